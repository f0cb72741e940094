"""Reports: one HTML file that needs nothing else, with tables and charts.

    rewards = LineChart({"reward": [(0, 0.2), (10, 0.7)]}, x="step", y="reward")
    figures = Table(["policy", "pass@1"], [["before", 0.31], ["after", 0.64]])
    write_report(
        "report.html",
        "GRPO on small list functions",
        [
            Section("Learning curve", chart=rewards),
            Section("Before and after", table=figures),
            Section("Notes", html="<p>One seed, on a CPU.</p>"),
        ],
    )

Sections show what they are given, in the order given.
"""

from __future__ import annotations

from codegym.report.charts import BarChart, LineChart
from codegym.report.evaluation import write_evaluation_report
from codegym.report.page import Section, Table, write_report

__all__ = ["BarChart", "LineChart", "Section", "Table", "write_evaluation_report", "write_report"]
