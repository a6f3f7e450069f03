import {
  Client,
  StreamableHTTPClientTransport,
  UnauthorizedError,
  type OAuthClientProvider,
} from '@modelcontextprotocol/client';

/** A person's browser: it keeps cookies by their paths, and follows no redirect by itself. */
export const openBrowser = () => {
  const jar = new Map<string, { value: string; path: string }>();
  const go = async (
    address: string | URL,
    init: { method?: string; body?: URLSearchParams } = {},
  ): Promise<Response> => {
    const url = new URL(address);
    const cookie = [...jar]
      .filter(([, { path }]) => url.pathname.startsWith(path))
      .map(([name, { value }]) => `${name.split(' ')[0]}=${value}`)
      .join('; ');
    const response = await fetch(url, { redirect: 'manual', ...init, headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [name = '', value = ''] = line.split(';')[0]!.split('=', 2);
      const path = /;\s*path=([^;]+)/i.exec(line)?.[1] ?? '/';
      if (value === '') jar.delete(`${name} ${path}`);
      else jar.set(`${name} ${path}`, { value, path });
    }
    return response;
  };
  /** Follows redirects on one origin. Returns the address that leaves it, or the page that is there. */
  const follow = async (response: Response, origin: string): Promise<URL | Response> => {
    let last = response;
    for (let hop = 0; hop < 8; hop += 1) {
      const location = last.headers.get('location');
      if (location === null) return last;
      const next = new URL(location, origin);
      if (next.origin !== origin) return next;
      last = await go(next);
    }
    throw new Error('too many redirects');
  };
  return { go, follow };
};

/** The stock client of MCP with its own OAuth. It is told the address of the server alone. */
export const createAssistant = (
  resource: string,
  {
    redirectUrl = 'http://127.0.0.1:9/callback',
    clientMetadataUrl,
    ...metadata
  }: Record<string, unknown> & { redirectUrl?: string; clientMetadataUrl?: string } = {},
) => {
  let wentTo: URL | null = null;
  const saved: { client?: never; tokens?: never; verifier?: string; discovery?: never } = {};
  const keep =
    (name: string) =>
    (value: unknown): void =>
      void Object.assign(saved, { [name]: value });
  const provider: OAuthClientProvider = {
    redirectUrl,
    ...(clientMetadataUrl === undefined ? {} : { clientMetadataUrl }),
    clientMetadata: {
      client_name: 'Assistant',
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      ...metadata,
    },
    clientInformation: () => saved.client,
    saveClientInformation: keep('client'),
    tokens: () => saved.tokens,
    saveTokens: keep('tokens'),
    redirectToAuthorization: (url) => {
      wentTo = url;
    },
    saveCodeVerifier: keep('verifier'),
    codeVerifier: () => saved.verifier ?? '',
    saveDiscoveryState: keep('discovery'),
    discoveryState: () => saved.discovery,
  };
  const open = () => new StreamableHTTPClientTransport(new URL(resource), { authProvider: provider });
  return {
    saved: saved as {
      client?: { client_id: string };
      tokens?: { access_token: string; refresh_token?: string; scope?: string; expires_in?: number };
    },
    /** Tries to connect, and returns the address to which the person is sent. */
    begin: async (): Promise<{ page: URL; finish: (back: URL) => Promise<void> }> => {
      const transport = open();
      const client = new Client({ name: 'assistant', version: '1' });
      try {
        await client.connect(transport);
      } catch (error) {
        if (!(error instanceof UnauthorizedError)) throw error;
      }
      if (wentTo === null) throw new Error('it was not sent to sign in');
      return { page: wentTo, finish: (back) => transport.finishAuth(back.searchParams) };
    },
    /** The address to which the person was sent last. */
    wentTo: () => wentTo,
    connect: async (): Promise<Client> => {
      const client = new Client({ name: 'assistant', version: '1' });
      await client.connect(open());
      return client;
    },
  };
};
