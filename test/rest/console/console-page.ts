import type { Page } from 'playwright-core';

/** Collects what the browser refused by the policy of a page, and errors of its scripts. */
export const watchPage = async (page: Page): Promise<string[]> => {
  const reports: string[] = [];
  await page.exposeFunction('report', (text: string) => void reports.push(text));
  await page.addInitScript(
    `addEventListener('securitypolicyviolation', ({ violatedDirective: d, blockedURI: u }) => report(d + ' ' + u))`,
  );
  page.on('pageerror', (error) => void reports.push(error.message));
  return reports;
};

/** Opens a page of the console, and signs in with a key. */
export const signInPage = async (page: Page, url: string, key: string): Promise<void> => {
  await page.goto(url);
  await page.getByLabel(/key/).fill(key);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('navigation', { name: 'Console' }).waitFor();
};
