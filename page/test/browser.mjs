// Headless Chromium, without a network.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Calls `work` with a browser that is closed afterwards. */
export async function withBrowser(work, options = {}) {
  const folder = await mkdtemp(join(tmpdir(), "forerun-page-"));
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  const browser = await chromium.launchPersistentContext(folder, { executablePath, headless: true, args: FLAGS, ...options });
  try {
    // The page must not use the network.
    await browser.setOffline(true);
    return await work(browser);
  } finally {
    await browser.close();
    await rm(folder, { recursive: true, force: true });
  }
}
