"""Five small functions: what the mutation benchmark mutates."""


def clamp(value, low, high):
    """Nothing below, nothing above."""
    if value < low:
        return low
    if value > high:
        return high
    return value


def roman(number):
    """A number in Roman numerals."""
    if number <= 0:
        raise ValueError("not positive: " + str(number))
    steps = [(10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]
    text = ""
    for value, letters in steps:
        while number >= value:
            text += letters
            number -= value
    return text


def mean(values, default=None):
    """The arithmetic mean; the default where there is nothing."""
    total = 0
    count = 0
    for value in values:
        total += value
        count += 1
    if count == 0:
        return default
    return total / count


def words(text, lower=True):
    """How often each word occurs, without punctuation."""
    found = {}
    for word in text.split():
        word = word.strip(".,!?")
        if lower:
            word = word.lower()
        if word:
            found[word] = found.get(word, 0) + 1
    return found


def search(values, wanted):
    """Where a value stands in a sorted list; -1 where it does not."""
    low = 0
    high = len(values) - 1
    while low <= high:
        middle = (low + high) // 2
        if values[middle] == wanted:
            return middle
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle - 1
    return -1
