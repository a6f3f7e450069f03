import { credit } from '../accounts/ledger/entries.ts';
import { parseUsd } from '../kit/money.ts';
import type { GatewayServices } from './services.ts';
import { isSandboxOnly } from './start-notices.ts';
import { issueKey } from '../accounts/keys.ts';

const sandboxCredit = parseUsd('25.00');
/** Fixed, so that no two starts on one store can make two such accounts. */
const firstAccountId = '5a0db0e5-0000-4000-8000-000000000001';

/**
 * On an empty store whose every SKU is served by the sandbox: an account with $25.00 of sandbox credit. Null where
 * there are accounts, or where a SKU costs the operator money: then accounts are the operator's to make. `chosenKey`
 * becomes its key, in place of a new one.
 */
export const openFirstAccount = async (
  services: GatewayServices,
  chosenKey: string | null = null,
): Promise<{ apiKey: string } | null> => {
  const { store, clock, config } = services;
  if (!isSandboxOnly(config) || !(await isFirstStart(services))) return null;
  const account =
    (await store.getAccount(firstAccountId)) ??
    (await store.createAccount({
      id: firstAccountId,
      name: 'Sandbox',
      status: 'active',
      isSandbox: true,
      now: clock.now(),
    }));
  // The same entry under the same id is posted once, whatever ended an earlier start half way.
  await credit(
    { store, clock },
    { accountId: account.id, amount: sandboxCredit, reason: 'sandbox credit', entryId: firstAccountId },
  );
  const issued = await issueKey(
    { store, clock },
    { accountId: account.id, label: 'first key', brand: config.brand, key: chosenKey ?? undefined },
  );
  if (issued.outcome !== 'issued') throw new Error(`the first key was not issued: ${issued.outcome}`);
  return { apiKey: issued.key };
};

const localLabel = 'stdio';

/**
 * A key for the assistant that started this gateway on its own folder without naming one, as at the first start. Null with a
 * database, where anybody else has an account, or where a SKU costs the operator money. The one that was made before is revoked.
 */
export const localKey = async ({ store, clock, config }: GatewayServices): Promise<string | null> => {
  const accounts = await store.listAccounts({ limit: 2 });
  if (
    config.databaseUrl !== null ||
    !isSandboxOnly(config) ||
    accounts.length !== 1 ||
    accounts[0]?.id !== firstAccountId
  )
    return null;
  for (const { id, label, revokedAt } of await newestKeys({ store, clock }))
    if (label === localLabel && revokedAt === null) await store.revokeKey({ id, now: clock.now() });
  const issued = await issueKey(
    { store, clock },
    { accountId: firstAccountId, label: localLabel, brand: config.brand },
  );
  return issued.outcome === 'issued' ? issued.key : null;
};

/** True without any account, or if an earlier start ended before it issued a key for the first account. */
const isFirstStart = async (services: Pick<GatewayServices, 'store' | 'clock'>): Promise<boolean> => {
  const [account, ...others] = await services.store.listAccounts({ limit: 2 });
  if (account === undefined) return true;
  return others.length === 0 && account.id === firstAccountId && (await newestKeys(services)).length === 0;
};

/** Every start revokes the local key of the one before, so an older one is revoked. */
const newestKeys = ({ store, clock }: Pick<GatewayServices, 'store' | 'clock'>) =>
  store.listKeys({ accountId: firstAccountId, limit: 1_000, before: null, now: clock.now() });

/** The text of a first start whose key was chosen by the operator. Never contains the key. */
export const chosenKeyText =
  'This is the first start. An account was made with $25.00 of sandbox credit. Its API key is the one in CAUSEWAY_API_KEY.';

interface FirstStart {
  apiKey: string;
  url: string;
  isSearchOn: boolean;
}

/** Makes the text of a first start: the key, which is shown only once, and calls to copy. */
export const firstStartText = ({ apiKey, url, isSearchOn }: FirstStart): string => {
  const mcpConfig = {
    mcpServers: {
      causeway: { type: 'http', url: `${url}/mcp`, headers: { Authorization: `Bearer ${apiKey}` } },
    },
  };
  return `
This is the first start. An account was made with $25.00 of sandbox credit. Its API key is shown this once:

  ${apiKey}

1. An MCP client's configuration:

${JSON.stringify(mcpConfig, null, 2)}

2. A question, by the OpenAI-compatible route:

curl ${url}/v1/chat/completions \\
  -H "Authorization: Bearer ${apiKey}" -H "Content-Type: application/json" \\
  -d '{"model":"textmodel-3.5-flash","messages":[{"role":"user","content":"Hello"}]}'
${isSearchOn ? searchText(url) : ''}`;
};

const searchText = (url: string): string => `
3. A search without a payment, which answers 402 with the terms (docs/agents-and-payments.md pays for one):

curl -i "${url}/v1/search?query=coffee"
`;
