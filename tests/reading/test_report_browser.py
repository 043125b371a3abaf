"""The report in a browser, if one is installed: errors, and how it fits a screen."""

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
        "return Array.from(document.querySelectorAll('p, li, td, th'))"
        ".map(e => parseFloat(getComputedStyle(e).fontSize))"
    )
    assert min(sizes) >= 11
    # The first column stays in sight when a wide table is moved.
    left = browser.execute_script(
        "const table = document.querySelector('#moons table');"
        "table.scrollLeft = 100;"
        "const cell = table.querySelector('tbody td').getBoundingClientRect();"
        "return [table.scrollLeft, cell.left - table.getBoundingClientRect().left]"
    )
    assert width > 600 or left == [100, 0]
    assert browser.get_log("browser") == [], "the console is silent"
