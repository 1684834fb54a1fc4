#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Looks at a page in headless Chromium: at two widths, in light and dark, and by keyboard.

usage: browser.py CHROMIUM PAGE.html [FOLDER for screenshots]

Fails if the page says anything to the console, asks for anything but itself, is wider than the
screen, or cannot be worked without a mouse. Speaks DevTools' protocol over a pipe, so that no
port is opened and nothing needs to be installed besides the browser.
"""
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile

chromium, page = sys.argv[1], os.path.abspath(sys.argv[2])
folder = sys.argv[3] if len(sys.argv) > 3 else None
profile = tempfile.mkdtemp()
to_read, to_write = os.pipe()
from_read, from_write = os.pipe()


def pipes():
    # What the browser reads is descriptor 3, what it writes is 4; whatever held these goes.
    high_in, high_out = os.dup2(to_read, 40), os.dup2(from_write, 41)
    os.dup2(high_in, 3)
    os.dup2(high_out, 4)


browser = subprocess.Popen(
    [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
     "--disable-background-networking", "--disable-component-update", "--disable-sync",
     "--hide-scrollbars", "--user-data-dir=" + profile, "--remote-debugging-pipe", "about:blank"],
    preexec_fn=pipes, pass_fds=(3, 4, to_read, from_write), stdout=subprocess.DEVNULL,
    stderr=subprocess.DEVNULL)
os.close(to_read)
os.close(from_write)
buffer, last, session = b"", 0, None
asked, said = [], []


def receive():
    global buffer
    while b"\0" not in buffer:
        more = os.read(from_read, 1 << 20)
        if not more:
            sys.exit("the browser ended")
        buffer += more
    line, buffer = buffer.split(b"\0", 1)
    message = json.loads(line)
    method, params = message.get("method"), message.get("params", {})
    if method == "Network.requestWillBeSent":
        asked.append(params["request"]["url"])
    elif method in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"):
        said.append(json.dumps(params)[:300])
    return message


def call(method, **params):
    global last
    last += 1
    message = {"id": last, "method": method, "params": params}
    if session:
        message["sessionId"] = session
    os.write(to_write, json.dumps(message).encode() + b"\0")
    while True:
        got = receive()
        if got.get("id") == last:
            if "error" in got:
                sys.exit("%s: %s" % (method, got["error"]))
            return got["result"]


def value(expression):
    return call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")


def press(key, code):
    for kind in ("keyDown", "keyUp"):
        call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)


def load(width, height, phone, scheme):
    call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
         mobile=phone)
    call("Emulation.setEmulatedMedia",
         features=[{"name": "prefers-color-scheme", "value": scheme}])
    call("Page.navigate", url="file://" + page)
    while receive().get("method") != "Page.loadEventFired":
        pass


def shoot(name, height):
    if folder:
        image = call("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                     clip={"x": 0, "y": 0, "width": value("innerWidth"),
                           "height": min(height, value("document.body.scrollHeight")), "scale": 1})
        with open(os.path.join(folder, name + ".png"), "wb") as out:
            out.write(base64.b64decode(image["data"]))


def check(truth, what):
    if not truth:
        failures.append(what)


failures = []
try:
    target = call("Target.createTarget", url="about:blank")["targetId"]
    session = call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    for domain in ("Page", "Runtime", "Log", "Network"):
        call(domain + ".enable")
    grounds = {}
    for name, width, height, phone in (("desktop", 1280, 900, False), ("phone", 390, 844, True)):
        for scheme in ("light", "dark"):
            load(width, height, phone, scheme)
            check(value("document.documentElement.scrollWidth") <= width,
                  "%s: wider than the screen" % name)
            grounds[scheme] = value("getComputedStyle(document.body).backgroundColor")
            shoot("%s-%s" % (name, scheme), 6000)
    check(grounds["light"] != grounds["dark"], "light and dark look the same")

    # By keyboard: Tab reaches a choice of bound, the arrows change it, and numbers go.
    load(1280, 900, False, "light")
    shown = "Array.from(document.querySelectorAll('td .%s')).filter(e => e.offsetWidth).length"
    bounds = value("document.querySelectorAll('td .lo').length")
    check(bounds and value(shown % "lo") == value(shown % "hi") > 0, "no bounds to begin with")
    press("Tab", 9)
    check(value("document.activeElement.id") == "b-all", "Tab does not reach the bounds first")
    press("ArrowRight", 39)
    check(value("document.activeElement.id") == "b-low" and value(shown % "lo") > 0 and
          value(shown % "es") == 0 and value(shown % "hi") == 0, "low bound alone")
    press("ArrowRight", 39)
    check(value(shown % "es") > 0 and value(shown % "lo") == 0, "estimate alone")
    shoot("estimate", 3000)
    policies = value("document.querySelectorAll('input[name=p]').length")
    if policies:
        press("Tab", 9)
        check(value("document.activeElement.id") == "p-0", "Tab does not reach the policies")
        press("ArrowRight", 39)
        rows = "Array.from(document.querySelectorAll('main .q')).filter(e => " \
               "getComputedStyle(e).display != 'none' && %se.classList.contains('p1')).length"
        check(value(rows % "") > 0 and value(rows % "!") == 0, "one policy alone")
        shoot("policy", 3000)
    # A heading sorts, by keyboard too.
    value("document.querySelector('input[name=p]') && (document.getElementById('p-0').checked = true)")
    value("window.t = Array.from(document.querySelectorAll('table')).find(t => "
          "t.tHead.textContent.includes('decisions') && t.tBodies[0].rows.length > 5);"
          "window.c = Array.from(t.tHead.rows[0].cells).findIndex(c => c.textContent == 'decisions');"
          "t.tHead.rows[0].cells[c].querySelector('button').focus()")
    for want in ("descending", "ascending"):
        call("Input.dispatchKeyEvent", type="keyDown", key=" ",
                                               code="Space", windowsVirtualKeyCode=32, text=" ")
        call("Input.dispatchKeyEvent", type="keyUp", key=" ", code="Space", windowsVirtualKeyCode=32)
        got = value("Array.from(t.tBodies[0].rows).map(r => "
                    "Number(r.cells[c].textContent.replace(/,/g, '')))")
        check(got == sorted(got, reverse=want == "descending") and
              value("t.tHead.rows[0].cells[c].getAttribute('aria-sort')") == want,
              "sort %s: %s" % (want, got[:9]))
    # Every link leads somewhere; a process leads to its pages.
    dead = value("Array.from(document.querySelectorAll('a[href]')).filter(a => "
                 "!document.getElementById(decodeURIComponent(a.hash.slice(1)))).map(a => a.hash)")
    check(not dead, "links that lead nowhere: %s" % dead)
    check(value("document.querySelectorAll('td a[href*=mm]').length") > 0, "no process has a link")
    outside = [url for url in asked if url not in ("file://" + page, "about:blank", "data:,")]
    check(not outside, "asked for %s" % outside)
    check(not said, "the console has: %s" % said)
finally:
    browser.terminate()
    browser.wait()
    shutil.rmtree(profile, ignore_errors=True)
for failure in failures:
    print(failure)
sys.exit(bool(failures))
