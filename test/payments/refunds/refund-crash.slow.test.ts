import { randomUUID } from 'node:crypto';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cliArguments } from '../../../scripts/node-arguments.ts';
import { silentLog } from '../../../src/kit/log.ts';
import { embeddedStoreFile, openStore } from '../../../src/store/open-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { startChains, type Chains } from '../../chains/start-chains.ts';
import { runCli, runHere, type Ended } from '../../cli/run-cli.ts';
import { layStore } from '../../data-template.ts';
import type { ChainName } from '../support/buyer.ts';
import { openRefundSite, paid, type RefundSite } from './refund-site.ts';

/** The steps between which anything durable or visible changes, in order. */
const steps: Record<ChainName, [step: string, left: string][]> = {
  base: [
    ['before eth_chainId', 'none'],
    ['before eth_estimateGas 3', 'planned'],
    ['after eth_getTransactionCount', 'planned'],
    ['before eth_sendRawTransaction', 'sending'],
    ['after eth_sendRawTransaction', 'sending'],
    ['before eth_getTransactionReceipt', 'sending'],
    ['after eth_getTransactionReceipt', 'sending'],
  ],
  solana: [
    ['after simulateTransaction', 'none'],
    ['before getLatestBlockhash 3', 'planned'],
    ['after getLatestBlockhash 3', 'planned'],
    ['before sendTransaction', 'sending'],
    ['after sendTransaction', 'sending'],
    ['before getSignatureStatuses', 'sending'],
    ['after getSignatureStatuses', 'sending'],
  ],
};

const preload = new URL('./kill-at-step.ts', import.meta.url).href;

/** Runs a command that kills itself; rejects when it does not. */
const runToDeath = (args: readonly string[], env: Record<string, string>): Promise<string> =>
  new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      ['--import', preload, ...cliArguments, ...args],
      { env, timeout: 60_000 },
      (error, stdout, stderr) => {
        if (error?.signal === 'SIGKILL' && stderr.includes('killed ')) resolve(stderr);
        else reject(new Error(`it lived on: ${stdout}${stderr}`));
      },
    );
  });

describe.each(['base', 'solana'] as const)('the refund command on %s', (chain) => {
  let chains: Chains;
  let site: RefundSite;
  let store: Store;
  let dataDir: string;
  let env: Record<string, string>;
  beforeAll(async () => {
    chains = await startChains();
    site = await openRefundSite(chains, chain);
    dataDir = await mkdtemp(join(tmpdir(), 'causeway-refunds-'));
    layStore(embeddedStoreFile(dataDir));
    store = await openStore({ databaseUrl: null, dataDir }, { log: silentLog });
    const keyName = { base: 'X402_EVM_REFUND_KEY', solana: 'X402_SOLANA_REFUND_KEY' }[chain];
    env = { ...chains.environment, DATA_DIR: dataDir, [keyName]: site.walletKey };
  });
  afterAll(async () => {
    await store.close();
    await chains.stop();
    await rm(dataDir, { recursive: true, force: true });
  });

  const outcomeOf = ({ stdout }: Ended): unknown => JSON.parse(stdout).outcome;

  it.each(steps[chain])('that is killed %s pays once when it is repeated', async (step, left) => {
    const payment = await site.addPayment(store);
    const id = randomUUID();
    const args = ['payments', 'refund', payment.identity, '--refund-id', id, '--yes', '--json'];
    await runToDeath(args, { ...env, KILL_AT: step });
    const before = await store.getRefund(id);
    expect(before?.state ?? 'none').toBe(left);
    await site.endTurn(store);
    const repeated = await runCli(args, { env });
    expect([repeated.exitCode, outcomeOf(repeated)]).toEqual([0, 'landed']);
    await site.makeFinal();
    const landed = await store.getRefund(id);
    if (landed === null) throw new Error('the refund is gone');
    const { refund: after } = await site.run(store, landed);
    expect(after).toMatchObject({ state: 'settled', amount: paid });
    // What was signed was never signed anew.
    if (left === 'sending') expect(after.transaction).toBe(before?.transaction);
    expect(await site.balanceOf(payment.payer)).toBe(paid);
  });

  it('says how it is repeated before it writes anything down', async () => {
    const payment = await site.addPayment(store);
    const args = ['payments', 'refund', payment.identity, '--amount', '0.04', '--yes'];
    const last = { base: 'before eth_estimateGas 3', solana: 'before getLatestBlockhash 3' }[chain];
    const told = await runToDeath(args, { ...env, KILL_AT: last });
    const words = /repeat it: causeway (.*)$/m.exec(told)?.[1]?.split(' ') ?? [];
    await site.endTurn(store);
    expect(await runCli(words, { env })).toMatchObject({ exitCode: 0 });
    expect(await site.balanceOf(payment.payer)).toBe(40_000n);
  });

  it('that runs twice at once pays once', async () => {
    const payment = await site.addPayment(store);
    const args = ['payments', 'refund', payment.identity, '--refund-id', randomUUID(), '--yes', '--json'];
    const both = await Promise.all([runCli(args, { env }), runCli(args, { env })]);
    expect(both.map(outcomeOf)).toEqual(['landed', 'landed']);
    expect(await site.balanceOf(payment.payer)).toBe(paid);
  });

  it('shows no key, whatever it prints', async () => {
    const payment = await site.addPayment(store);
    const runs = [
      await runCli(['payments', 'refund', payment.identity], { env }),
      await runCli(['payments', 'refund', payment.identity, '--yes', '--json'], { env }),
      await runHere(['payments', 'show', payment.identity, '--json'], { env }),
    ];
    expect(runs.map(({ exitCode }) => exitCode)).toEqual([2, 0, 0]);
    for (const { stdout, stderr } of runs) expect(stdout + stderr).not.toContain(site.walletKey.slice(2, 20));
  });
});
