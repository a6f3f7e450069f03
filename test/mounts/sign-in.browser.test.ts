import { expect, it } from 'vitest';
import { useChromium } from '../use-chromium.ts';
import { startBoth } from './sign-in-gateways.ts';

const visit = useChromium();

it('a person signs in to a mounted server in a browser, without script', async () => {
  const { gateway, remote } = await startBoth();
  const page = await visit({ javaScriptEnabled: false });
  await page.goto(`${gateway.url}/oauth/tools/notes`);
  const sendKey = async (key: string, button: string): Promise<void> => {
    await page.getByLabel(/API key/).fill(key);
    await page.getByRole('button', { name: button, exact: true }).click();
  };
  await sendKey('sk_causeway_wrong', 'Continue');
  expect(await page.getByRole('main').innerText()).toContain('There is no such key');
  await sendKey(gateway.apiKey, 'Continue');
  expect(await page.getByRole('main').innerText()).toMatch(
    /account Tester \([\w-]+\) then acts in your name/,
  );
  await page.getByRole('link', { name: `Sign in at ${new URL(remote.url).host}` }).click();
  await sendKey(remote.apiKey, 'Allow');
  await page.getByRole('heading', { name: 'You are signed in to notes' }).waitFor();
  await page.reload();
  await page.getByRole('heading', { name: 'You are not signed in to notes' }).waitFor();
});
