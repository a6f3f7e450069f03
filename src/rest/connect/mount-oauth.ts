import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Provider } from 'oidc-provider';
import { AppError, messages, methodNotAllowed } from '../../kit/errors.ts';
import { brandTitle, sanitizeLine } from '../../kit/text.ts';
import { newId, sha256 } from '../../kit/ids.ts';
import { memoizeAsync } from '../../kit/memoize.ts';
import { basePathOf } from '../../kit/public-url.ts';
import { writeJson } from '../../kit/write-answer.ts';
import { scopes } from '../../accounts/authenticate.ts';
import {
  connectionResources,
  mainResource,
  metadataStart,
  resourceScopes,
} from '../../accounts/connection-resources.ts';
import { consentPage, type ConsentSubject } from './consent-page.ts';
import { createProvider, type ProviderOptions } from './create-provider.ts';
import { unusedGrantMs } from './oauth-adapter.ts';
import { metadataResource } from './provider-path.ts';
import { readForm } from './read-sign-in.ts';
import { readConsent, type Consent } from './read-consent.ts';
import { describeRedirect } from './redirect-target.ts';
import { createServeAskedCall, type AskedCallOptions } from './serve-asked-call.ts';
import { createServeToolSignIn, type ToolSignInOptions } from './serve-tool-sign-in.ts';
import { endPage, pageOwner, writePage } from './write-page.ts';

export interface OAuthMountOptions
  extends Omit<ProviderOptions, 'publicUrl' | 'config'>, AskedCallOptions, ToolSignInOptions {}

interface AskedPage {
  path: string;
  clientAddress: string;
}

/** The methods that the pages of people take. */
const pages: readonly (readonly [RegExp, string])[] = [
  [/^\/(?:authorize|enter\/[^/]+|calls\/\w+|tools\/[a-z0-9-]+)$/, 'GET, HEAD, POST'],
  [/^\/(?:authorize\/[^/]+|tools\/[a-z0-9-]+\/callback)$/, 'GET, HEAD'],
];

/** The methods of what programs call, also those in web pages of any origin. */
const open = new Map([
  ...['/token', '/register', '/revoke'].map((path) => [path, 'POST'] as const),
  ...[
    ...['/jwks', '/.well-known/openid-configuration', '/.well-known/oauth-authorization-server'],
    ...connectionResources.keys().map((resource) => metadataStart + resource),
  ].map((path) => [path, 'GET, HEAD'] as const),
]);

/** Returns whether the request may go on. When false, it has been answered. Throws AppError 404 or 405. */
const admit = ({ method = '' }: IncomingMessage, response: ServerResponse, path: string): boolean => {
  const opened = open.get(path);
  const methods = opened ?? pages.find(([page]) => page.test(path))?.[1];
  if (methods === undefined) throw new AppError('not_found', messages.not_found);
  if (opened !== undefined) response.setHeader('access-control-allow-origin', '*');
  if (methods.split(', ').includes(method)) return true;
  if (opened === undefined || method !== 'OPTIONS') throw methodNotAllowed(methods);
  response.writeHead(204, {
    'access-control-allow-methods': methods,
    // The wildcard covers every header but Authorization.
    'access-control-allow-headers': 'authorization, *',
    'access-control-max-age': '7200',
  });
  response.end();
  return false;
};

/** Serves what is below `/oauth`, by `toProviderPath`: the authorization server, its metadata, and the pages of people. */
export const createOAuthMount = (options: OAuthMountOptions) => {
  const load = memoizeAsync(async () => {
    const provider = await createProvider({ ...options, publicUrl: options.publicUrl() });
    return { callback: provider.callback(), enter: createEnter(provider, options) };
  });

  const serveAskedCall = createServeAskedCall(options);
  const serveToolSignIn = createServeToolSignIn(options);
  const hasTools = options.mounts.accountServers.length > 0;

  return async (request: IncomingMessage, response: ServerResponse, page: AskedPage): Promise<void> => {
    const { path, clientAddress } = page;
    if (!admit(request, response, path)) return;
    const askedCall = /^\/calls\/(\w+)$/.exec(path)?.[1];
    if (askedCall !== undefined) return serveAskedCall(request, response, { id: askedCall, clientAddress });
    const [, server, back] = /^\/tools\/([a-z0-9-]+)(\/callback)?$/.exec(path) ?? [];
    if (server !== undefined)
      return serveToolSignIn(request, response, { server, isReturn: back !== undefined });
    const publicUrl = options.publicUrl();
    const resource = metadataResource(path);
    const allowed = resource === null ? undefined : resourceScopes(resource, hasTools);
    if (resource !== null && allowed !== undefined)
      return writeJson(response, {
        status: 200,
        body: protectedResource(publicUrl, { resource, allowed, config: options.config }),
      });
    const { callback, enter } = await load();
    nameOurselves(request, publicUrl, path);
    if (path.startsWith('/enter/')) await enter(request, response, page);
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
  const sent = url.includes('?') ? url.slice(url.indexOf('?')) : '';
  const query = path === '/authorize' ? withScopes(sent) : sent;
  Object.assign(request, {
    originalUrl: `${basePathOf(publicUrl)}/oauth${path}${query}`,
    url: `${path}${query}`,
  });
};

/**
 * A client that names no scope of ours asks for all, as its person sees on the page. The library would refuse it after the
 * consent, or give it a token that opens nothing.
 */
const withScopes = (query: string): string => {
  const params = new URLSearchParams(query);
  const named = textOf(params.get('scope')).split(' ');
  if (scopes.some((scope) => named.includes(scope))) return query;
  params.set('scope', [...named, ...scopes].join(' ').trim());
  return `?${params.toString()}`;
};

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

const expired = {
  title: 'This request has ended',
  text: 'Go back to your assistant, and connect again.',
};

/** Shows what is asked for, and makes the connection that a person allows. */
const createEnter = (provider: Provider, options: OAuthMountOptions) => {
  return async (
    request: IncomingMessage,
    response: ServerResponse,
    { path, clientAddress }: AskedPage,
  ): Promise<void> => {
    const publicUrl = options.publicUrl();
    const owner = pageOwner({ ...options, publicUrl });
    const details = await provider.interactionDetails(request, response).catch(() => null);
    // The cookie is of the newest page. What a person allows on an older one must not go to another assistant.
    if (details === null || path !== `/enter/${details.uid}`)
      return writePage(response, 400, endPage(owner, expired));
    const { uid, prompt, params, lastSubmission } = details;
    // A client that asks for consent gets a second round, which the page has answered already.
    if (prompt.name === 'consent' && lastSubmission?.consent?.grantId !== undefined)
      return provider.interactionFinished(request, response, { consent: lastSubmission.consent });

    const clientId = textOf(params['client_id']);
    const client = await provider.Client.find(clientId);
    // The library has refused those that are not ours.
    const named = new Set([params['resource'] ?? publicUrl + mainResource].flat());
    if (named.size > 1)
      return provider.interactionFinished(request, response, {
        error: 'invalid_target',
        error_description: 'A connection opens one resource. Ask for one.',
      });
    const resource = textOf([...named][0]).slice(publicUrl.length);
    const servers = await serversWithTools(options);
    const offered = resourceScopes(resource, servers.length > 0) ?? [];
    const wanted = textOf(params['scope']).split(' ');
    const asked = offered.filter((scope) => wanted.includes(scope));
    const subject = {
      ...owner,
      clientHost: URL.parse(clientId)?.host ?? null,
      // PostgreSQL takes no text with the character zero.
      clientName: sanitizeLine(client?.clientName ?? clientId).slice(0, 100),
      redirect: describeRedirect(textOf(params['redirect_uri'])),
      scopes: (asked.length === 0 ? offered : asked).flatMap((scope) =>
        scope === 'tools' ? servers.map((server) => `tools:${server}`) : scope,
      ),
    };
    // A message that was signed for another request counts for nothing here.
    const requestId = sha256(uid);
    const show = async (failed: ConsentSubject['failed']): Promise<void> => {
      const statement = `Let an assistant that returns to ${subject.redirect.name} use the balance of this wallet. Signing costs nothing.`;
      const prompts = options.config.wallets.isOn
        ? await options.x402.promptSignIn({ statement, requestId })
        : null;
      const page = consentPage({ ...subject, prompts, failed });
      // An assistant's web site may lead on to any other address, also to an app. A policy cannot name them.
      const policy = { formAction: null, hasScript: prompts !== null };
      writePage(response, failed === null ? 200 : 400, page, policy);
    };
    if (request.method !== 'POST') return show(null);
    const form = await readForm(request);
    if (form.get('answer') !== 'allow')
      return provider.interactionFinished(request, response, {
        error: 'access_denied',
        error_description: 'The person refused.',
      });
    const consent = await readConsent(form, { asked: subject.scopes, requestId, clientAddress }, options);
    if (typeof consent === 'string') return show({ problem: consent, form });
    // The library would send the person away to leave the account of the connection that they made before.
    response.setHeader('set-cookie', `oauth_session=; Path=${basePathOf(publicUrl)}/oauth; Max-Age=0`);
    if (details.session !== undefined) {
      delete details.session;
      await details.persist();
    }
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

/** The mounted servers that have tools to offer to a connection. */
const serversWithTools = async ({ mounts }: Pick<OAuthMountOptions, 'mounts'>): Promise<string[]> => {
  const offered = await mounts.offered();
  return mounts.accountServers.filter((name) => offered.some(({ server }) => server === name));
};

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Makes a connection with its grant. Returns the id of the grant. */
const makeConnection = async (
  provider: Provider,
  made: Consent & {
    clientId: string;
    resource: string;
    subject: Pick<ConsentSubject, 'clientHost' | 'clientName' | 'redirect'>;
  },
  { store, clock, publicUrl }: OAuthMountOptions,
): Promise<string> => {
  const { accountId, allowed, clientId, resource, subject } = made;
  const grant = new provider.Grant({ accountId, clientId });
  const refused = scopes.filter((scope) => !allowed.includes(scope)).join(' ');
  const uri = publicUrl() + resource;
  // The library asks again for what is neither added nor rejected.
  grant.addOIDCScope(['offline_access', ...allowed].join(' '));
  // No token of ours says who the person is. Gemini CLI asks for it, because the library lists this scope.
  grant.rejectOIDCScope(`openid ${refused}`);
  grant.addResourceScope(uri, allowed.join(' '));
  grant.rejectResourceScope(uri, refused);
  const grantId = await grant.save();
  const now = clock.now();
  await store.createConnection({
    id: newId(),
    accountId,
    parentId: made.keyId,
    grantId: sha256(grantId),
    scopes: allowed,
    servers: made.servers,
    resource,
    client: { id: clientId, name: subject.clientName, redirect: subject.redirect.name },
    label: subject.clientHost ?? subject.clientName,
    // The first token takes this end away.
    limits: { ...made.budgets, expiresAt: now + unusedGrantMs },
    askAbove: made.askAbove,
    now,
  });
  return grantId;
};
