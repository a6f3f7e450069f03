import { randomUUID } from 'node:crypto';
import { issueOperatorKey } from '../../../src/operator/operators.ts';
import type { GatewayServices } from '../../../src/gateway/services.ts';
import type { OperatorRole } from '../../../src/store/store.ts';

export interface ConsoleCall {
  body?: unknown;
  headers?: Readonly<Record<string, string>>;
  method?: string;
}

export interface ConsoleClient {
  /** The cookie as a browser sends it, and as the gateway set it. */
  cookie: string;
  setCookie: string;
  /** Calls as a page of the console does. */
  call(path: string, options?: ConsoleCall): Promise<Response>;
}

/** Signs a key in, as the page of the console does. */
export const signInTo = async (url: string, key: string): Promise<ConsoleClient> => {
  let setCookie = '';
  const call: ConsoleClient['call'] = (path, { body, headers, method } = {}) =>
    fetch(url + path, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: {
        cookie: setCookie.replace(/;.*/s, ''),
        origin: url,
        'sec-fetch-site': 'same-origin',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const answer = await call('/console/session', { body: { key } });
  [setCookie = ''] = answer.headers.getSetCookie();
  return { call, setCookie, cookie: setCookie.replace(/;.*/s, '') };
};

/** Issues the key of an operator. */
export const issueOperator = async (
  services: GatewayServices,
  role: OperatorRole = 'write',
): Promise<{ id: string; key: string }> => {
  const id = randomUUID();
  const { key } = await issueOperatorKey(
    { ...services, brand: 'causeway', config: () => Promise.resolve(services.config) },
    { id, label: 'console', role, expiresAt: null },
  );
  return { id, key };
};
