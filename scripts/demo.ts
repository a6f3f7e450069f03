import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { decodePaymentResponseHeader } from '@x402/fetch';
import { startChains, type Chains } from '../test/chains/start-chains.ts';
import { callTool } from './demo/call-tool.ts';
import { operate, placeOf } from './demo/operate.ts';
import { must, say, step, terminal, type Gateway } from './demo/stage.ts';
import { useGeneration } from './demo/use-generation.ts';
import { mounted, useMountedTools } from './demo/use-mounted-tools.ts';
import { useWallet } from './demo/use-wallet.ts';
import { startGatewayProcess } from './gateway-process.ts';
import { loadWallets, payingFetch } from './wallets.ts';

const usage = `The whole product in one command: local chains, a gateway, and an assistant that uses and pays for it.

  npm run demo
  npm run demo -- "a question of yours"

Needs no keys and no internet; everything runs in a temporary folder on this machine.`;

const defaultQuestion = 'Which three things should I check before I hire an influencer for a coffee brand?';

const startingUsdc = 5_000_000n;
const usdc = (units: bigint): string => `${(Number(units) / 1e6).toFixed(2)} USDC`;

interface Balances {
  buyerOnBase: bigint;
  sellerOnBase: bigint;
  buyerOnSolana: bigint;
  sellerOnSolana: bigint;
}

const readBalances = async ({ base, solana }: Chains): Promise<Balances> => ({
  buyerOnBase: await base.balanceOf(base.buyer.address),
  sellerOnBase: await base.balanceOf(base.seller.address),
  buyerOnSolana: await solana.balanceOf(solana.buyer.address),
  sellerOnSolana: await solana.balanceOf(solana.seller.address),
});

const sayBalances = (balances: Balances): void => {
  say(`Base     buyer ${usdc(balances.buyerOnBase)}   seller ${usdc(balances.sellerOnBase)}`);
  say(`Solana   buyer ${usdc(balances.buyerOnSolana)}   seller ${usdc(balances.sellerOnSolana)}`);
};

const readyTimeoutMs = 30_000;

/** The first start builds the lead index in the background. */
const whenReady = async (url: string): Promise<void> => {
  const giveUpAt = performance.now() + readyTimeoutMs;
  for (;;) {
    const response = await fetch(`${url}/health/ready`, { signal: AbortSignal.timeout(readyTimeoutMs) });
    if (response.ok) return;
    must(performance.now() < giveUpAt, 'the gateway is ready in time');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
};

const startEverything = async (
  folder: string,
  cleanUp: (() => Promise<unknown>)[],
): Promise<{ chains: Chains; gateway: Gateway }> => {
  const chains = await step('Start a local Base chain and a local Solana chain', async () => {
    const started = await startChains();
    cleanUp.push(started.stop);
    await started.base.mint(started.base.buyer.address, startingUsdc);
    await started.solana.mint(started.solana.buyer.address, startingUsdc);
    say(`Base    ${started.base.rpcUrl}  (anvil, Circle's own FiatToken code)`);
    say(`Solana  ${started.solana.rpcUrl}  (litesvm)`);
    return started;
  });
  const gateway = await step('Start the gateway on an empty folder', async () => {
    const place = placeOf(folder);
    await writeFile(place.CAUSEWAY_CONFIG, mounted);
    const started = await startGatewayProcess({
      ...chains.environment,
      ...place,
      // The webhook receiver is on this machine.
      ALLOW_LOOPBACK_URLS: 'true',
      WALLET_ACCOUNTS: 'on',
    });
    cleanUp.push(started.stop);
    const { apiKey } = started;
    must(apiKey !== null, 'the first start prints a key');
    say(`${started.url}, first key ${apiKey.slice(0, 16)}…`);
    await whenReady(started.url);
    say('The lead index is built: fictional profiles, generated on this machine.');
    return { ...started, apiKey };
  });
  return { chains, gateway };
};

const connectAssistant = async ({ url, apiKey }: Gateway): Promise<Client> => {
  const assistant = new Client({ name: 'demo-assistant', version: '1.0.0' });
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${apiKey}` } },
  });
  await assistant.connect(transport);
  return assistant;
};

const readBalance = async (assistant: Client): Promise<string> => {
  const { data } = await callTool(assistant, 'get_balance', {});
  must(typeof data['balance_usd'] === 'string', 'get_balance returns balance_usd');
  return data['balance_usd'];
};

interface SearchAnswer {
  count: number;
  results: { username: string; followers: number; country?: string; category?: string }[];
}

const sayLeads = ({ count, results }: SearchAnswer): void => {
  for (const lead of results.slice(0, 5))
    say(
      `@${lead.username.padEnd(28)}${String(lead.followers).padStart(11)}  ${lead.country ?? ''}  ${lead.category ?? ''}`,
    );
  say(`${count} results`);
};

const paySearch = async (url: string, pay: typeof fetch): Promise<void> => {
  const response = await pay(url);
  must(response.status === 200, `a paid search returns 200, not ${response.status}`);
  const receipt = decodePaymentResponseHeader(response.headers.get('payment-response') ?? '');
  must(receipt.success, 'the receipt says that the payment settled');
  const answer = (await response.json()) as SearchAnswer;
  must(answer.count > 0 && answer.results.length === answer.count, 'there are results');
  sayLeads(answer);
  say(`paid on ${receipt.network}: ${receipt.transaction}`);
};

const buyLeads = async (gateway: Gateway, assistant: Client, chains: Chains): Promise<void> => {
  await step('A search without payment is refused, with terms', async () => {
    const { isError, data } = await callTool(assistant, 'search_leads', { query: 'coffee', limit: 20 });
    must(isError && Array.isArray(data['accepts']), 'a payment-required error with terms');
    for (const term of data['accepts'] as { network: string; amount: string }[])
      say(`${usdc(BigInt(term.amount))} on ${term.network}`);
  });

  await step('Pay for a search on Base (@x402/fetch)', async () => {
    const pay = payingFetch(await loadWallets({ evmKey: chains.base.buyer.privateKey }));
    await paySearch(`${gateway.url}/v1/search?query=coffee&limit=20`, pay);
  });

  await step('Pay for a search on Solana (@x402/fetch)', async () => {
    const { buyer, rpcUrl } = chains.solana;
    const pay = payingFetch(await loadWallets({ solanaKey: buyer.secretKeyBase58, solanaRpcUrl: rpcUrl }));
    await paySearch(`${gateway.url}/v1/search?category=Fitness&gender=female&limit=30`, pay);
  });
};

const checkLedger = async (folder: string): Promise<void> => {
  const { problems, entries } = (await operate(folder, 'ledger', 'check')) as {
    problems: string[];
    entries: number;
  };
  must(problems.length === 0, 'the ledger check finds nothing wrong');
  say(`ledger check: ${entries} entries, no problem`);
};

const checkMoney = async (input: {
  chains: Chains;
  assistant: Client;
  folder: string;
  before: Balances;
  prepaidBefore: string;
}): Promise<void> => {
  await step('Balances afterwards, on both chains and in the ledger', async () => {
    const after = await readBalances(input.chains);
    sayBalances(after);
    must(
      after.sellerOnBase - input.before.sellerOnBase === 100_000n,
      'the seller has 0.10 USDC more on Base',
    );
    must(input.before.buyerOnBase - after.buyerOnBase === 100_000n, 'the buyer has 0.10 USDC less on Base');
    must(
      after.sellerOnSolana - input.before.sellerOnSolana === 120_000n,
      'the seller has 0.12 USDC more on Solana',
    );
    must(
      input.before.buyerOnSolana - after.buyerOnSolana === 120_000n,
      'the buyer has 0.12 USDC less on Solana',
    );
    const prepaid = await readBalance(input.assistant);
    must(Number(prepaid) < Number(input.prepaidBefore), 'the prepaid balance went down');
    say(`Prepaid  $${input.prepaidBefore} -> $${prepaid}`);
    await checkLedger(input.folder);
  });
};

const run = async (folder: string, question: string, cleanUp: (() => Promise<unknown>)[]): Promise<void> => {
  const { chains, gateway } = await startEverything(folder, cleanUp);
  const assistant = await connectAssistant(gateway);
  cleanUp.push(() => assistant.close());

  const { before, prepaidBefore } = await step('Balances before', async () => {
    const balances = await readBalances(chains);
    sayBalances(balances);
    const prepaid = await readBalance(assistant);
    say(`Prepaid  $${prepaid}`);
    return { before: balances, prepaidBefore: prepaid };
  });
  await useGeneration(gateway, assistant, question);
  await buyLeads(gateway, assistant, chains);
  await checkMoney({ chains, assistant, folder, before, prepaidBefore });
  await useWallet(gateway.url, chains);
  await useMountedTools(gateway.url, chains, folder);
  await step('Check the ledger again', () => checkLedger(folder));
  await step('Stop the gateway (SIGTERM)', async () => {
    must((await gateway.stop()) === 0, 'the gateway drains and exits with 0');
  });
};

const main = async (): Promise<void> => {
  const [question = defaultQuestion] = process.argv.slice(2);
  if (question === '--help' || question === '-h') {
    say(usage);
    return;
  }
  const folder = await mkdtemp(join(tmpdir(), 'causeway-demo-'));
  const cleanUp: (() => Promise<unknown>)[] = [];
  const startedAt = performance.now();
  try {
    await run(folder, question, cleanUp);
    say(`\nAll steps passed in ${((performance.now() - startedAt) / 1000).toFixed(1)} s.`);
  } catch (error) {
    terminal.fail(error);
    process.exitCode = 1;
  } finally {
    for (const undo of cleanUp.toReversed()) await undo();
    await rm(folder, { recursive: true, force: true });
  }
};

await main();
