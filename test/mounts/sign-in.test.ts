import { expect, it } from 'vitest';
import { createRecordedLog } from '../limits/recorded-log.ts';
import { openAccount } from '../mcp/open-account.ts';
import { openBrowser } from '../rest/connect/assistant.ts';
import { allowAt, beginSignIn, signIn, startBoth, startListed, type Both } from './sign-in-gateways.ts';

const call = ({ gateway }: Both, apiKey = gateway.apiKey): Promise<Response> =>
  gateway.call('/v1/tools/notes/get_balance', { body: {}, apiKey });

const balanceIn = async (answer: Response): Promise<unknown> => {
  const result = (await answer.json()) as { structuredContent?: { balance_usd?: string } };
  return result.structuredContent?.balance_usd ?? result;
};

it('calls the tools of a server as the account that has signed in to it, and keeps its tokens secret', async () => {
  const { log, lines } = createRecordedLog();
  const both = await startListed(log);
  const { gateway, remote } = both;
  const refused = await call(both);
  expect(refused.status).toBe(403);
  expect(await refused.json()).toMatchObject({
    error: { message: expect.stringContaining(`sign in at ${gateway.url}/oauth/tools/notes first`) },
  });

  const { apiKey: second } = await openAccount(gateway.services);
  const { apiKey: remoteSecond } = await openAccount(remote.services);
  const done = await signIn(both, { key: gateway.apiKey, remoteKey: remote.apiKey });
  expect(await done.text()).toContain('You are signed in to notes');
  await signIn(both, { key: second, remoteKey: remoteSecond });
  expect(await balanceIn(await call(both))).toBe('25.00');
  expect(await balanceIn(await call(both, second))).toBe('10.00');
  expect(await balanceIn(await call(both))).toBe('25.00');

  const rows = await remote.services.store.listAudit;
  expect(rows).toBeDefined();
  expect(JSON.stringify(lines)).not.toMatch(/access_token|refresh_token|code_verifier/);
});
