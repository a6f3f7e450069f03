import { setTimeout as pause } from 'node:timers/promises';
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';
import type { Chains } from '../../test/chains/start-chains.ts';
import { mountYaml, programOf } from '../../test/mounts/mount-yaml.ts';
import { loadWallets, payingFetch } from '../wallets.ts';
import { operate } from './operate.ts';
import { must, say, step } from './stage.ts';

const timeoutMs = 30_000;
const startingUsdc = 1_000_000n;

/** The settings that mount the reference server of the protocol, with prices for two of its tools. */
export const mounted = mountYaml({
  everything: {
    args: [programOf('everything')],
    allow: ['echo', 'get-sum', 'get-structured-content'],
    prices: { echo: '0.02', 'get-sum': '0.05' },
  },
});

/** Shows the tools of a server that nobody here wrote: accepted, sold by key and to a wallet, and free when they fail. */
export const useMountedTools = async (
  gatewayUrl: string,
  { base }: Chains,
  folder: string,
): Promise<void> => {
  const headers = { authorization: `Bearer ${await openAccount(folder)}` };
  await step('Accept the tools of a mounted MCP server that nobody here wrote', () =>
    acceptTools(gatewayUrl, headers, folder),
  );
  const readBalance = async (): Promise<number> => {
    const response = await send(`${gatewayUrl}/v1/balance`, { headers });
    return Number(((await response.json()) as { balance_usd: string }).balance_usd);
  };
  const callByKey = async (input: object, status: number): Promise<void> => {
    const before = await readBalance();
    const { content, error } = await callSum(gatewayUrl, { input, headers, status });
    const cost = before - (await readBalance());
    say(`${error?.message ?? content?.[0]?.text ?? ''}\ncharged $${cost.toFixed(2)}`);
    must(cost.toFixed(2) === (status === 200 ? '0.05' : '0.00'), 'only a success is charged');
  };

  await step('Sell one of its tools by key', () => callByKey({ a: 20, b: 22 }, 200));
  await step('A call with a wrong argument costs nothing', () => callByKey({ a: 'twenty', b: 22 }, 422));
  await step('Sell it to a wallet, without a key (@x402/fetch)', async () => {
    const privateKey = generatePrivateKey();
    const address = privateKeyToAddress(privateKey);
    await base.mint(address, startingUsdc);
    const pay = payingFetch(await loadWallets({ evmKey: privateKey }));
    const { content } = await callSum(gatewayUrl, { input: { a: 30, b: 12 } }, pay);
    const paid = startingUsdc - (await base.balanceOf(address));
    must(paid === 50_000n, 'the wallet pays the price of the tool');
    say(`${content?.[0]?.text ?? ''}\npaid $${Number(paid) / 1e6} by ${address}`);
  });
  await step('Sum up what the tools earned', () => readRevenue(folder));
};

interface ToolAnswer {
  content?: { text?: string }[];
  error?: { message: string };
}

const send = (url: string | URL | Request, init: RequestInit = {}): Promise<Response> =>
  fetch(url, { ...init, signal: AbortSignal.timeout(timeoutMs) });

/** Calls a tool that has a price: it adds two numbers. */
const callSum = async (
  gatewayUrl: string,
  { input, headers, status = 200 }: { input: object; headers?: Record<string, string>; status?: number },
  call: typeof fetch = send,
): Promise<ToolAnswer> => {
  const response = await call(`${gatewayUrl}/v1/tools/everything/get-sum`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ arguments: input }),
  });
  must(response.status === status, `a call of a tool answers ${status}, not ${response.status}`);
  return (await response.json()) as ToolAnswer;
};

/** Repeats `look` until it finds something. */
const waitFor = async <T>(what: string, look: () => Promise<readonly T[]>): Promise<readonly T[]> => {
  const giveUpAt = performance.now() + timeoutMs;
  for (;;) {
    const found = await look();
    if (found.length > 0) return found;
    must(performance.now() < giveUpAt, `${what} in time`);
    await pause(200);
  }
};

const acceptTools = async (
  gatewayUrl: string,
  headers: Record<string, string>,
  folder: string,
): Promise<void> => {
  const list = async (...words: string[]) =>
    ((await operate(folder, 'tools', ...words)) as { tools: { tool: string; pin: string }[] }).tools;
  await waitFor('the server lists its tools', () => list('list'));
  const offered = async (): Promise<{ mcp_name: string; price_usd: string }[]> => {
    const response = await send(`${gatewayUrl}/v1/tools`, { headers });
    return ((await response.json()) as { tools: { mcp_name: string; price_usd: string }[] }).tools;
  };
  must((await offered()).length === 0, 'no tool is offered before it is accepted');
  for (const { tool, pin } of await list('accept', 'everything'))
    say(`${tool.padEnd(24)} ${pin.slice(0, 12)}`);
  const tools = await waitFor('the accepted tools are offered', offered);
  for (const { mcp_name: name, price_usd: price } of tools)
    if (Number(price) > 0) say(`${name} is sold for $${price}`);
};

/** Opens an account with a real dollar, as sandbox credit pays for no tool. Returns its key. */
const openAccount = async (folder: string): Promise<string> => {
  const { account } = (await operate(folder, 'accounts', 'create', '--name', 'Demo Ltd', '--approved')) as {
    account: { id: string };
  };
  await operate(folder, 'credit', account.id, '1', '--reason', 'demo');
  return ((await operate(folder, 'keys', 'issue', account.id)) as { key: string }).key;
};

const readRevenue = async (folder: string): Promise<void> => {
  const { tools } = (await operate(folder, 'tools', 'revenue')) as {
    tools: { tool: string; calls: number; errors: number; income_usd: string }[];
  };
  for (const { tool, calls, errors, income_usd: income } of tools)
    say(`${tool}: ${calls} calls, of them ${errors} failed, $${income}`);
  must(tools[0]?.income_usd === '0.10' && tools[0].calls === 2, 'two calls were sold, and no other was made');
};
