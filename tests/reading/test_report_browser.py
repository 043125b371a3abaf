"""The report in a browser, where one is installed: sorting, errors, and how it fits a screen."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

webdriver = pytest.importorskip("selenium.webdriver")
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        CHROMIUM is None or DRIVER is None, reason="needs chromium and chromedriver"
    ),
]


@pytest.fixture(scope="module")
def browser(rendered: Any) -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(argument)
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")  # Chromium refuses to run as root with it
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=DRIVER)
    driver = webdriver.Chrome(options=options, service=service)
    try:
        driver.get((rendered.directory / "report.html").as_uri())
        yield driver
    finally:
        driver.quit()


def column(browser: Any, number: int) -> list[str]:
    script = (
        "return Array.from(document.querySelectorAll('#table-moons tbody tr'))"
        ".map(row => row.cells[arguments[0]].getAttribute('data-value'))"
    )
    return list(browser.execute_script(script, number))


def states(browser: Any) -> list[str]:
    script = (
        "return Array.from(document.querySelectorAll('#table-moons thead th'))"
        ".map(head => head.getAttribute('aria-sort'))"
    )
    return list(browser.execute_script(script))


def press(browser: Any, number: int) -> None:
    """By keyboard, as somebody without a mouse does."""
    button = browser.find_elements("css selector", "#table-moons thead button")[number]
    button.send_keys("\ue007")  # Enter


def test_columns_sort_by_keyboard_and_go_back_to_the_tables_order(browser: Any) -> None:
    methods, means = column(browser, 0), [float(v) for v in column(browser, 2)]
    press(browser, 2)
    assert [float(v) for v in column(browser, 2)] == sorted(means, reverse=True)
    assert states(browser)[2] == "descending"
    press(browser, 2)
    assert [float(v) for v in column(browser, 2)] == sorted(means)
    press(browser, 0)
    assert column(browser, 0) == sorted(methods)
    assert states(browser) == ["ascending"] + ["none"] * (len(states(browser)) - 1)
    press(browser, 0)
    press(browser, 0)
    assert column(browser, 0) == methods
    assert set(states(browser)) == {"none"}
    assert browser.get_log("browser") == [], "the console is silent"


@pytest.mark.parametrize("width", [1280, 400])
def test_the_page_fits_the_screen_and_can_be_read(browser: Any, width: int) -> None:
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    inner, content = browser.execute_script(
        "return [window.innerWidth, document.documentElement.scrollWidth]"
    )
    assert inner == width
    assert content <= width
    sizes = browser.execute_script(
        "return Array.from(document.querySelectorAll('p, li, dd, td, th, .paper'))"
        ".map(e => parseFloat(getComputedStyle(e).fontSize))"
    )
    assert min(sizes) >= 11
    # The first column stays in sight when a wide table is moved.
    left = browser.execute_script(
        "const frame = document.querySelector('#table-moons').parentElement;"
        "frame.scrollLeft = 100;"
        "const cell = frame.querySelector('tbody th').getBoundingClientRect();"
        "return [frame.scrollLeft, cell.left - frame.getBoundingClientRect().left]"
    )
    assert width > 600 or left == [100, 0]
