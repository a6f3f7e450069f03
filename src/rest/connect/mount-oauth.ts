import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Provider } from 'oidc-provider';
import { AppError } from '../../kit/errors.ts';
import { brandTitle } from '../../kit/text.ts';
import { newId, sha256 } from '../../kit/ids.ts';
import { memoizeAsync } from '../../kit/memoize.ts';
import { parseUsd, type Nano } from '../../kit/money.ts';
import type { KeyLimits } from '../../rules/key-limits.ts';
import { scopes, type Caller } from '../../accounts/authenticate.ts';
import { connectionResources, mainResource } from '../../accounts/connection-resources.ts';
import { pageHeaders } from '../page-shell.ts';
import { consentPage, expiredPage, type ConsentSubject } from './consent-page.ts';
import { createProvider, type ProviderOptions } from './create-provider.ts';
import { describeRedirect } from './redirect-target.ts';

export interface OAuthMountOptions extends Omit<ProviderOptions, 'publicUrl'> {
  publicUrl: () => string;
  config: { brand: string };
  authenticate: (authorization: string) => Promise<Caller | null>;
}

/** The addresses that some assistants call, whatever the metadata says. */
const aliases = new Set(['/authorize', '/token', '/register']);

/**
 * Serves the authorization server below `/oauth`, its metadata, and the page of consent. The returned function is false
 * for any other address.
 */
export const createOAuthMount = (options: OAuthMountOptions) => {
  const load = memoizeAsync(async () => {
    const provider = await createProvider({ ...options, publicUrl: options.publicUrl() });
    return { provider, callback: provider.callback(), enter: createEnter(provider, options) };
  });

  return async (request: IncomingMessage, response: ServerResponse, { pathname }: URL): Promise<boolean> => {
    const publicUrl = options.publicUrl();
    const resource = afterStart(pathname, '/.well-known/oauth-protected-resource');
    const allowed = connectionResources.get(resource);
    if (allowed !== undefined) {
      writeJson(response, protectedResource(publicUrl, { resource, allowed, config: options.config }));
      return true;
    }
    const path = toProviderPath(pathname);
    if (path === null) return false;
    const { callback, enter } = await load();
    nameOurselves(request, publicUrl, path);
    if (path.startsWith('/enter/')) await enter(request, response);
    else await callback(request, response);
    return true;
  };
};

const toProviderPath = (pathname: string): string | null => {
  if (aliases.has(pathname)) return pathname;
  if (pathname === '/.well-known/oauth-authorization-server/oauth')
    return '/.well-known/openid-configuration';
  return pathname.startsWith('/oauth/') ? pathname.slice('/oauth'.length) : null;
};

/** The library reads its own address from the request, where clients and proxies could write another one. */
const nameOurselves = (request: IncomingMessage, publicUrl: string, path: string): void => {
  const { host, protocol, pathname } = new URL(publicUrl);
  const { headers, url = '' } = request;
  for (const name of Object.keys(headers))
    if (name === 'forwarded' || name.startsWith('x-forwarded-')) delete headers[name];
  headers.host = host;
  headers['x-forwarded-proto'] = protocol.slice(0, -1);
  const query = url.includes('?') ? url.slice(url.indexOf('?')) : '';
  Object.assign(request, {
    originalUrl: `${pathname.replace(/\/$/, '')}/oauth${path}${query}`,
    url: `${path}${query}`,
  });
};

const afterStart = (text: string, start: string): string =>
  text.startsWith(start) ? text.slice(start.length) : '';

/** The metadata of a resource that connections open (RFC 9728). */
const protectedResource = (
  publicUrl: string,
  {
    resource,
    allowed,
    config,
  }: { resource: string; allowed: readonly string[] } & Pick<OAuthMountOptions, 'config'>,
) => ({
  resource: publicUrl + resource,
  authorization_servers: [`${publicUrl}/oauth`],
  scopes_supported: [...allowed, 'offline_access'],
  bearer_methods_supported: ['header'],
  resource_name: brandTitle(config),
});

const writeJson = (response: ServerResponse, value: object): void => {
  response.writeHead(200, { 'content-type': 'application/json', 'access-control-allow-origin': '*' });
  response.end(JSON.stringify(value));
};

const maxFormBytes = 10_000;

const readForm = async (request: IncomingMessage): Promise<URLSearchParams> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxFormBytes) throw new AppError('payload_too_large', 'The form is too long.');
    chunks.push(chunk);
  }
  return new URLSearchParams(Buffer.concat(chunks).toString());
};

/** Shows what is asked for, and makes the connection that a person allows. */
const createEnter = (provider: Provider, options: OAuthMountOptions) => {
  const service = brandTitle(options.config);
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const publicUrl = options.publicUrl();
    const style = `${new URL(publicUrl).pathname.replace(/\/$/, '')}/docs/style.css`;
    const details = await provider.interactionDetails(request, response).catch(() => null);
    if (details === null) return writePage(response, 400, expiredPage({ service, style }));
    const { prompt, params, lastSubmission } = details;
    // A client that asks for consent gets a second round, which the page has answered already.
    if (prompt.name === 'consent' && lastSubmission?.consent?.grantId !== undefined)
      return provider.interactionFinished(request, response, { consent: lastSubmission.consent });

    const clientId = textOf(params['client_id']);
    const redirectUri = textOf(params['redirect_uri']);
    const client = await provider.Client.find(clientId);
    const named = new Set(
      [params['resource'] ?? publicUrl + mainResource]
        .flat()
        .map((uri) => afterStart(textOf(uri), publicUrl)),
    );
    if (named.size > 1)
      return provider.interactionFinished(request, response, {
        error: 'invalid_target',
        error_description: 'A connection opens one resource. Ask for one.',
      });
    const [resource = ''] = named;
    const offered = connectionResources.get(resource) ?? [];
    const wanted = textOf(params['scope']).split(' ');
    const asked = offered.filter((scope) => wanted.includes(scope));
    const subject = {
      service,
      style,
      clientHost: URL.parse(clientId)?.host ?? null,
      clientName: (client?.clientName ?? clientId).slice(0, 100),
      redirect: describeRedirect(redirectUri),
      scopes: asked.length === 0 ? offered : asked,
    };
    const show = (problem: string | null): void =>
      writePage(response, problem === null ? 200 : 400, consentPage({ ...subject, problem }), redirectUri);
    if (request.method !== 'POST') return show(null);
    const form = await readForm(request);
    if (form.get('answer') !== 'allow')
      return provider.interactionFinished(request, response, {
        error: 'access_denied',
        error_description: 'The person refused.',
      });
    const consent = await readConsent(form, subject.scopes, options);
    if (typeof consent === 'string') return show(consent);
    const login = { accountId: consent.caller.accountId, remember: false };
    const grantId = await makeConnection(provider, { ...consent, subject, clientId, resource }, options);
    await provider.interactionFinished(
      request,
      response,
      { login, consent: { grantId } },
      { mergeWithLastSubmission: false },
    );
  };
};

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

interface Consent {
  caller: Caller;
  budgets: Pick<KeyLimits, 'budgetDay' | 'budgetTotal'>;
  allowed: string[];
}

/** Returns what a person allows with the form; a text for them if that cannot be. */
const readConsent = async (
  form: URLSearchParams,
  asked: readonly string[],
  { authenticate }: OAuthMountOptions,
): Promise<Consent | string> => {
  const budgetDay = readBudget(form.get('budget_day_usd') ?? '');
  const budgetTotal = readBudget(form.get('budget_total_usd') ?? '');
  if (budgetDay === undefined || budgetTotal === undefined)
    return 'A limit must be US dollars above zero, such as 5.00.';
  if ((budgetDay ?? budgetTotal) === null) return 'Set a limit by day or in all.';
  const caller = await authenticate(`Bearer ${form.get('key')?.trim() ?? ''}`).catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'invalid_api_key') return null;
    throw error;
  });
  if (caller === null) return 'There is no such key, or it has ended.';
  const allowed = asked.filter((scope) => form.getAll('scope').includes(scope));
  return allowed.length === 0
    ? 'Allow at least one of these.'
    : { caller, budgets: { budgetDay, budgetTotal }, allowed };
};

/** Makes a connection with its grant. Returns the id of the grant. */
const makeConnection = async (
  provider: Provider,
  {
    caller: { accountId, keyId },
    budgets,
    allowed,
    clientId,
    resource,
    subject,
  }: Consent & {
    clientId: string;
    resource: string;
    subject: Pick<ConsentSubject, 'clientHost' | 'clientName' | 'redirect'>;
  },
  { store, clock, publicUrl }: OAuthMountOptions,
): Promise<string> => {
  const grant = new provider.Grant({ accountId, clientId });
  const refused = scopes.filter((scope) => !allowed.includes(scope)).join(' ');
  const uri = publicUrl() + resource;
  // The library asks again for what is neither added nor rejected.
  grant.addOIDCScope(['offline_access', ...allowed].join(' '));
  grant.rejectOIDCScope(refused);
  grant.addResourceScope(uri, allowed.join(' '));
  grant.rejectResourceScope(uri, refused);
  const grantId = await grant.save();
  await store.createConnection({
    id: newId(),
    accountId,
    parentId: keyId,
    grantId: sha256(grantId),
    scopes: allowed,
    resource,
    client: { id: clientId, name: subject.clientName, redirect: subject.redirect.name },
    label: subject.clientHost ?? subject.clientName,
    limits: budgets,
    now: clock.now(),
  });
  return grantId;
};

const maxBudget = parseUsd('1000000000');

/** Null for no budget; undefined for an amount that none can have. */
const readBudget = (text: string): Nano | null | undefined => {
  if (text.trim() === '') return null;
  const amount = /^\d{1,10}(?:\.\d{1,9})?$/.test(text.trim()) ? parseUsd(text.trim()) : 0n;
  return amount > 0n && amount <= maxBudget ? amount : undefined;
};

/** `redirectUri`: where the form may lead in the end. */
const writePage = (response: ServerResponse, status: number, page: string, redirectUri?: string): void => {
  const target = redirectUri === undefined ? null : new URL(redirectUri);
  const form = target === null ? '' : ` ${target.origin === 'null' ? target.protocol : target.origin}`;
  const policy = pageHeaders['content-security-policy'] ?? '';
  response.writeHead(status, {
    ...pageHeaders,
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': policy.replace("form-action 'none'", `form-action 'self'${form}`),
  });
  response.end(page);
};
