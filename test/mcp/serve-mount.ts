import { createServer } from 'node:http';
import { createAuthenticate, createAuthenticateConnection } from '../../src/accounts/authenticate.ts';
import { systemClock } from '../../src/kit/clock.ts';
import type { McpMount } from '../../src/mcp/mount-mcp.ts';
import type { Store } from '../../src/store/store.ts';
import { listenOnLoopback, type Listening } from './listen-on-loopback.ts';

/** Serves a mount as the application does: request id first, and 404 for what the mount leaves alone. */
export const serveMount = (
  mount: McpMount,
  store: Pick<Store, 'findKey' | 'findConnection'>,
): Promise<Listening> => {
  const options = { store, clock: systemClock, config: { wallets: { terms: null } } };
  const authenticate = createAuthenticate(options);
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    const requestId = `req_${requests}`;
    response.setHeader('x-request-id', requestId);
    const facts = {
      requestId,
      url: new URL(request.url ?? '/', 'http://localhost'),
      clientAddress: '127.0.0.1',
      note: {},
      authenticate: (authorization: string | undefined) => authenticate(authorization),
      authenticateConnection: createAuthenticateConnection(options),
    };
    if (!mount(request, response, facts)) response.writeHead(404).end();
  });
  return listenOnLoopback(server);
};
