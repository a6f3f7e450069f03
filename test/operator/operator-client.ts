import { randomUUID } from 'node:crypto';
import { issueOperatorKey } from '../../src/operator/operators.ts';
import type { JsonObject } from '../../src/kit/json.ts';
import type { OperatorRole } from '../../src/store/store.ts';
import type { TestGateway } from '../e2e/start-test-gateway.ts';

interface SendOptions extends Omit<RequestInit, 'headers'> {
  headers?: Record<string, string>;
}

export interface OperatorAnswer {
  status: number;
  body: JsonObject;
}

/** Calls the operator's API of a gateway with a new key. */
export const createOperatorClient = async (
  { url, services }: Pick<TestGateway, 'url' | 'services'>,
  role: OperatorRole = 'write',
) => {
  const { config } = services;
  const { key } = await issueOperatorKey(
    { ...services, brand: config.brand, config: () => Promise.resolve(config) },
    { id: randomUUID(), label: 'test', role, expiresAt: null },
  );
  const send = async (path: string, { headers, ...init }: SendOptions = {}): Promise<OperatorAnswer> => {
    const response = await fetch(`${url}/admin/v1${path}`, {
      ...init,
      headers: { authorization: `Bearer ${key}`, ...headers },
    });
    return { status: response.status, body: (await response.json()) as JsonObject };
  };
  return {
    key,
    send,
    get: (path: string) => send(path),
    post: (path: string, body: JsonObject = {}) =>
      send(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
  };
};
