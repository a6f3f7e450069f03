import { onTestFinished } from 'vitest';
import type { Log } from '../../src/kit/log.ts';
import { issueKey } from '../../src/accounts/keys.ts';
import { startTestGateway, type TestGateway } from '../e2e/start-test-gateway.ts';
import { openBrowser } from '../rest/connect/assistant.ts';
import { acceptToolsOf } from './accept-tools.ts';
import { startMountingGateway } from './start-mounting-gateway.ts';

/** A person with the key of an account, and with the key of an account of the server that they sign in to. */
interface Person {
  key: string;
  remoteKey: string;
  browser?: ReturnType<typeof openBrowser>;
}

/** Sends a key to the page of a sign-in. Returns the page, and the address where the person goes on, if it has one. */
export const beginSignIn = async (
  { url }: Pick<TestGateway, 'url'>,
  { key, browser = openBrowser() }: Pick<Person, 'key' | 'browser'>,
  server = 'notes',
): Promise<{ page: string; next: URL | null }> => {
  const body = new URLSearchParams({ key });
  const answer = await browser.go(`${url}/oauth/tools/${server}`, { method: 'POST', body });
  const page = await answer.text();
  const link = /href="(http[^"]+)" rel="noreferrer"/.exec(page)?.[1]?.replaceAll(/&(?:amp|#38);/g, '&');
  return { page, next: link === undefined ? null : new URL(link) };
};

/** Allows what is asked at the authorization server of a gateway. Returns the address where the person returns. */
export const allowAt = async (
  { url }: Pick<TestGateway, 'url'>,
  { remoteKey, browser = openBrowser() }: Pick<Person, 'remoteKey' | 'browser'>,
  next: URL | null,
): Promise<URL> => {
  const first = await browser.go(next ?? url);
  const consent = new URL(first.headers.get('location') ?? '', url);
  await browser.go(consent);
  const body = new URLSearchParams({
    key: remoteKey,
    answer: 'allow',
    scope: 'read',
    budget_day_usd: '5.00',
  });
  const back = await browser.follow(await browser.go(consent, { method: 'POST', body }), url);
  if (back instanceof URL) return back;
  throw new Error(await back.text());
};

export type Both = Awaited<ReturnType<typeof startBoth>>;

/** Signs a person in. Returns the last page. */
export const signIn = async ({ gateway, remote }: Both, person: Person): Promise<Response> => {
  const browser = person.browser ?? openBrowser();
  const { next } = await beginSignIn(gateway, { ...person, browser });
  return browser.go(await allowAt(remote, { ...person, browser }, next));
};

/** The account whose sign-in lists the tools. */
export const secretsKey = '0c'.repeat(32);
const listingId = '019ab0aa-0b1c-7d2e-8f30-4a5b6c7d8e9f';

/** Two gateways. One mounts `/mcp/account` of the other as `notes`, to which each account signs in by itself. */
export const startBoth = async (log?: Log, environment: Record<string, string> = {}) => {
  const remote = await startTestGateway();
  onTestFinished(() => remote.stop());
  const oauth = { per_account: true, scope: 'read offline_access', listed_by: listingId };
  const notes = { url: `${remote.url}/mcp/account`, private: true, allow: ['get_balance'], oauth };
  const secrets = { TOOLS_SECRETS_KEY: secretsKey, ...environment };
  const gateway = await startMountingGateway({ notes, other: notes, callback: notes }, secrets, log);
  onTestFinished(() => gateway.stop());
  const { services } = gateway;
  const now = services.clock.now();
  await services.store.createAccount({
    id: listingId,
    name: 'Lister',
    status: 'active',
    isSandbox: false,
    now,
  });
  const issued = await issueKey(services, { accountId: listingId, label: 'test', brand: 'causeway' });
  if (issued.outcome !== 'issued') throw new Error('the key was not issued');
  return { remote, gateway, listingKey: issued.key };
};

/** As `startBoth`, with the tools listed and accepted. */
export const startListed = async (log?: Log, environment?: Record<string, string>): Promise<Both> => {
  const both = await startBoth(log, environment);
  await signIn(both, { key: both.listingKey, remoteKey: both.remote.apiKey });
  await acceptToolsOf(both.gateway.services, 'notes');
  return both;
};
