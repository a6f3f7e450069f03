import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll } from 'vitest';

/** It reaches nothing but loopback, and also runs as root. */
const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // The client of PulseAudio leaves a folder behind.
  '--disable-audio-output',
];

/**
 * Opens one Chromium for a test file, the program that CHROMIUM names. The returned function opens a page of a new
 * visitor, who leaves when its test ends.
 */
export const useChromium = (): ((options?: BrowserContextOptions) => Promise<Page>) => {
  const executablePath = process.env['CHROMIUM'];
  if (executablePath === undefined)
    throw new Error(
      'CHROMIUM: set it to the path of Chromium (on Debian /usr/bin/chromium, of the package chromium)',
    );
  let browser: Browser | undefined;
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath, args: flags });
  });
  afterEach(async () => {
    for (const visitor of browser?.contexts() ?? []) await visitor.close();
  });
  afterAll(() => browser?.close());
  return async (options) => {
    if (browser === undefined) throw new Error('Chromium runs only while tests run');
    return (await browser.newContext(options)).newPage();
  };
};
