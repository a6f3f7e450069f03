import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Provider } from 'oidc-provider';
import { AppError } from '../../kit/errors.ts';
import { brandTitle } from '../../kit/text.ts';
import { newId, sha256 } from '../../kit/ids.ts';
import { memoizeAsync } from '../../kit/memoize.ts';
import { readBody } from '../../kit/streams.ts';
import { writeJson } from '../../kit/write-answer.ts';
import { scopes } from '../../accounts/authenticate.ts';
import { connectionResources, mainResource } from '../../accounts/connection-resources.ts';
import { pageHeaders } from '../page-shell.ts';
import { walletScriptSource } from './wallet-script.ts';
import { consentPage, expiredPage, type ConsentSubject } from './consent-page.ts';
import { basePathOf, createProvider, type ProviderOptions } from './create-provider.ts';
import { unusedGrantMs } from './oauth-adapter.ts';
import { metadataResource } from './provider-path.ts';
import { readConsent, type Consent, type SignInOptions } from './read-consent.ts';
import { describeRedirect } from './redirect-target.ts';

export interface OAuthMountOptions extends Omit<ProviderOptions, 'publicUrl'>, SignInOptions {
  publicUrl: () => string;
}

/** Serves the authorization server below `/oauth`, its metadata, and the page of consent, by `toProviderPath`. */
export const createOAuthMount = (options: OAuthMountOptions) => {
  const load = memoizeAsync(async () => {
    const provider = await createProvider({ ...options, publicUrl: options.publicUrl() });
    return { callback: provider.callback(), enter: createEnter(provider, options) };
  });

  return async (request: IncomingMessage, response: ServerResponse, path: string): Promise<void> => {
    const publicUrl = options.publicUrl();
    const resource = metadataResource(path);
    const allowed = resource === null ? undefined : connectionResources.get(resource);
    if (resource !== null && allowed !== undefined)
      return writeJson(response, {
        status: 200,
        headers: { 'access-control-allow-origin': '*' },
        body: protectedResource(publicUrl, { resource, allowed, config: options.config }),
      });
    const { callback, enter } = await load();
    nameOurselves(request, publicUrl, path);
    if (path.startsWith('/enter/')) await enter(request, response, path);
    else await callback(request, response);
  };
};

/** The library reads its own address from the request, where clients and proxies could write another one. */
const nameOurselves = (request: IncomingMessage, publicUrl: string, path: string): void => {
  const { host, protocol } = new URL(publicUrl);
  const { headers, url = '' } = request;
  for (const name of Object.keys(headers))
    if (name === 'forwarded' || name.startsWith('x-forwarded-')) delete headers[name];
  headers.host = host;
  headers['x-forwarded-proto'] = protocol.slice(0, -1);
  const query = url.includes('?') ? url.slice(url.indexOf('?')) : '';
  Object.assign(request, {
    originalUrl: `${basePathOf(publicUrl)}/oauth${path}${query}`,
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

const maxFormBytes = 30_000;

const readForm = async (request: IncomingMessage): Promise<URLSearchParams> => {
  const body = await readBody(request, maxFormBytes);
  if (body === null) throw new AppError('payload_too_large', 'The form is too long.');
  return new URLSearchParams(body.toString());
};

/** Shows what is asked for, and makes the connection that a person allows. */
const createEnter = (provider: Provider, options: OAuthMountOptions) => {
  const service = brandTitle(options.config);
  return async (request: IncomingMessage, response: ServerResponse, path: string): Promise<void> => {
    const publicUrl = options.publicUrl();
    const style = `${basePathOf(publicUrl)}/docs/style.css`;
    const details = await provider.interactionDetails(request, response).catch(() => null);
    // The cookie is of the newest page. What a person allows on an older one must not go to another assistant.
    if (details === null || path !== `/enter/${details.uid}`)
      return writePage(response, 400, expiredPage({ service, style }));
    const { uid, prompt, params, lastSubmission } = details;
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
    // A message that was signed for another request counts for nothing here.
    const requestId = sha256(uid);
    const show = async (problem: string | null): Promise<void> => {
      const statement = `Let an assistant that returns to ${subject.redirect.name} use the balance of this wallet. Signing costs nothing.`;
      const prompts = options.config.wallets.isOn
        ? await options.x402.promptSignIn({ statement, requestId })
        : null;
      const page = consentPage({ ...subject, prompts, problem });
      writePage(response, problem === null ? 200 : 400, page, { redirectUri, hasScript: prompts !== null });
    };
    if (request.method !== 'POST') return show(null);
    const form = await readForm(request);
    if (form.get('answer') !== 'allow')
      return provider.interactionFinished(request, response, {
        error: 'access_denied',
        error_description: 'The person refused.',
      });
    const consent = await readConsent(form, { asked: subject.scopes, requestId }, options);
    if (typeof consent === 'string') return show(consent);
    const login = { accountId: consent.accountId, remember: false };
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

/** Makes a connection with its grant. Returns the id of the grant. */
const makeConnection = async (
  provider: Provider,
  {
    accountId,
    keyId,
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
  const now = clock.now();
  await store.createConnection({
    id: newId(),
    accountId,
    parentId: keyId,
    grantId: sha256(grantId),
    scopes: allowed,
    resource,
    client: { id: clientId, name: subject.clientName, redirect: subject.redirect.name },
    label: subject.clientHost ?? subject.clientName,
    // The first token takes this end away.
    limits: { ...budgets, expiresAt: now + unusedGrantMs },
    now,
  });
  return grantId;
};

/** `redirectUri`: where the form may lead in the end. */
const writePage = (
  response: ServerResponse,
  status: number,
  page: string,
  { redirectUri, hasScript }: { redirectUri?: string; hasScript?: boolean } = {},
): void => {
  const target = redirectUri === undefined ? null : new URL(redirectUri);
  const form = target === null ? '' : ` ${target.origin === 'null' ? target.protocol : target.origin}`;
  const script = hasScript === true ? `; script-src ${walletScriptSource}` : '';
  const policy = pageHeaders['content-security-policy'] ?? '';
  response.writeHead(status, {
    ...pageHeaders,
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': policy.replace("form-action 'none'", `form-action 'self'${form}`) + script,
  });
  response.end(page);
};
