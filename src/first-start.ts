import { createAccount } from './accounts/create-account.ts';
import { issueKey } from './accounts/issue-key.ts';
import { credit } from './ledger/credit.ts';
import { parseUsd } from './money.ts';
import type { GatewayServices } from './services.ts';

const sandboxCredit = parseUsd('25.00');

/**
 * On an empty store whose every SKU is served by the sandbox: an account with $25.00 of sandbox credit. Null where
 * there are accounts, or where a SKU costs the operator money: then accounts are the operator's to make.
 */
export const openFirstAccount = async (services: GatewayServices): Promise<{ apiKey: string } | null> => {
  const { store, clock, config } = services;
  const isSandboxOnly = config.models.every(({ routes }) =>
    routes.every(({ provider }) => config.providers[provider]?.type === 'sandbox'),
  );
  if (!isSandboxOnly || (await store.listAccounts({ limit: 1 })).length > 0) return null;
  const account = await createAccount({ store, clock }, { name: 'Sandbox', status: 'active' });
  await credit({ store, clock }, { accountId: account.id, amount: sandboxCredit, reason: 'sandbox credit' });
  const issued = await issueKey(
    { store, clock },
    { accountId: account.id, label: 'first key', brand: config.brand },
  );
  if (issued.outcome !== 'issued') throw new Error(`the first key was not issued: ${issued.outcome}`);
  return { apiKey: issued.key };
};

/** What the first start prints: the key, once, and three calls to copy. */
export const firstStartText = ({ apiKey, url }: { apiKey: string; url: string }): string => {
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

3. A search, paid with x402 by the wallet whose key you give (test USDC). With curl, it answers 402 and the terms:

BUYER_EVM_PRIVATE_KEY=0x... npm run pay -- "${url}/v1/search?query=coffee&limit=20"
`;
};
