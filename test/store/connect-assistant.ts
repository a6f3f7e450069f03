import { randomUUID } from 'node:crypto';
import { sha256 } from '../../src/kit/ids.ts';
import type { Store } from '../../src/store/store.ts';
import { noLimits, type KeyLimits } from '../../src/rules/key-limits.ts';

/** Makes a connection of an account, by a key of its own, with an access token for an hour. */
export const connectAssistant = async (
  store: Pick<Store, 'createKey' | 'createConnection' | 'putOAuthRecord'>,
  {
    accountId,
    now,
    limits = { budgetDay: 5_000_000_000n },
    parentLimits = {},
    scopes = ['read', 'generate'],
    servers = [],
    tokenScope,
    askAbove = null,
    resource = '/mcp/account',
    token = randomUUID(),
    madeBy = null,
    label = 'assistant.example',
  }: {
    accountId: string;
    now: number;
    limits?: Partial<KeyLimits>;
    parentLimits?: Partial<KeyLimits>;
    scopes?: string[];
    servers?: string[];
    /** The scopes that the token names; default: none. */
    tokenScope?: string;
    askAbove?: bigint | null;
    resource?: string;
    token?: string;
    /** Who made its key. */
    madeBy?: string | null;
    /** Its host. */
    label?: string;
  },
): Promise<{ connectionId: string; parentId: string; grantId: string; token: string }> => {
  const [connectionId, parentId, grantId] = [randomUUID(), randomUUID(), randomUUID()];
  await store.createKey({
    id: parentId,
    accountId,
    hash: parentId,
    display: '',
    label: 'parent',
    limits: { ...noLimits, ...parentLimits },
    madeBy,
    now,
  });
  await store.createConnection({
    id: connectionId,
    accountId,
    parentId,
    grantId,
    scopes,
    servers,
    resource,
    askAbove,
    client: { id: 'https://assistant.example/client.json', name: 'Assistant', redirect: 'assistant.example' },
    label,
    limits,
    now,
  });
  await store.putOAuthRecord({
    model: 'AccessToken',
    id: sha256(token),
    payload: JSON.stringify({ scope: tokenScope }),
    grantId,
    uid: null,
    expiresAt: now + 3_600_000,
    now,
  });
  return { connectionId, parentId, grantId, token };
};
