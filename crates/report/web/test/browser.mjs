// Chromium for the tests of pages: starts it, and opens pages that must neither complain nor ask the
// network for anything.

import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

/** What the tests exit with where there is no browser. */
function missing(what) {
  console.error(what);
  process.exit(77);
}

function playwright() {
  const homes = [process.env.SERIATIM_PLAYWRIGHT, import.meta.dirname].filter(Boolean);
  for (const home of homes) {
    try {
      return createRequire(join(home, "package.json"))("playwright-core");
    } catch {
      // Perhaps the next home has it.
    }
  }
  return missing("playwright-core is not installed (npm install in crates/report/web/test)");
}

/** Starts Chromium. */
export async function launch() {
  const { chromium } = playwright();
  const places = [process.env.SERIATIM_CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
  const executablePath = places.find((place) => place && existsSync(place)) ?? missing("there is no Chromium");
  return chromium.launch({ executablePath, headless: true, args: FLAGS });
}

/**
 * Opens a page, and waits until it is ready if its scripts run. `complaints` collects whatever it complains about or asks
 * the network for.
 */
export async function open(browser, address, { patience, ...options }) {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(patience);
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => complaints.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => complaints.push(error.stack));
  page.on("dialog", (dialog) => complaints.push(`dialog: ${dialog.message()}`));
  page.on("request", (request) => {
    if (!/^(file|data|blob|about):/.test(request.url())) complaints.push(`request: ${request.url()}`);
  });
  await page.goto(address);
  if (options.javaScriptEnabled !== false) await page.waitForSelector("html[data-ready=true]");
  return { page, context, complaints };
}
