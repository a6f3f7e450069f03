import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allChecks } from '../../scripts/contract/all-checks.ts';
import { runContract, type ContractReport } from '../../scripts/contract/run-contract.ts';
import { startContractGateway, type ContractGateway } from './start-contract-gateway.ts';

let gateway: ContractGateway;
let report: ContractReport;

beforeAll(async () => {
  gateway = await startContractGateway();
  report = await runContract(gateway.options);
}, 400_000);

afterAll(() => gateway.stop());

describe('the contract suite against this gateway', () => {
  it('finds every rule kept, and skips none', () => {
    const kept = report.results.filter(({ outcome }) => outcome === 'passed').map(({ id }) => id);
    const others = report.results
      .filter(({ outcome }) => outcome !== 'passed')
      .map(({ id, outcome, reason }) => `${id} ${outcome}: ${reason}`);
    expect(others).toEqual([]);
    expect(kept).toEqual(allChecks.map(({ id }) => id));
  });

  it('spends no more than it was allowed', () => {
    expect(Number(report.spentUsd)).toBeGreaterThan(0);
    expect(Number(report.spentUsd)).toBeLessThanOrEqual(Number(gateway.options.allowSpendUsd));
  });

  it('shows no key and no secret', () => {
    const text = JSON.stringify(report);
    for (const key of [gateway.options.apiKey, gateway.options.otherKey, gateway.options.poorKey])
      expect(text).not.toContain(key);
  });
});

describe('the gateway without settings', () => {
  it('sells the text models at the rates of the contract', async () => {
    const answer = await fetch(`${gateway.options.baseUrl}/v1/models`, {
      headers: { authorization: `Bearer ${gateway.options.apiKey}` },
    });
    const { data } = (await answer.json()) as { data: { kind: string; id: string; pricing: object }[] };
    const rates = [
      ['textmodel-3.5-flash', '1.05', '6.30'],
      ['textmodel-3.1-flash-lite', '0.175', '1.05'],
      ['textmodel-3.1-pro', '1.40', '8.40'],
      ['textmodel-3.7-flash', '0.525', '2.625'],
    ];
    expect(data.filter(({ kind }) => kind === 'chat').map(({ id, pricing }) => ({ id, pricing }))).toEqual(
      rates.map(([id, input, output]) => ({
        id,
        pricing: { unit: 'token', currency: 'USD', input_usd_per_1m: input, output_usd_per_1m: output },
      })),
    );
  });
});

describe('a run with less', () => {
  it('skips what it was given nothing for, and says why', async () => {
    const { options } = gateway;
    const lesser = await runContract({
      ...options,
      otherKey: null,
      poorKey: null,
      sandbox: false,
      video: false,
      deadlineSeconds: null,
      rateLimit: false,
      webhook: null,
      only: ['HIST-8', 'IMG-18', 'IMG-16', 'VID-1', 'CHAT-18', 'VID-25', 'HOOK-1', 'KEY-4'],
    });
    const reasons = Object.fromEntries(lesser.results.map(({ id, reason }) => [id, reason]));
    expect(reasons).toMatchObject({
      'HIST-8': expect.stringContaining('--other-key'),
      'IMG-18': expect.stringContaining('--poor-key'),
      'IMG-16': expect.stringContaining('--sandbox'),
      'VID-1': expect.stringContaining('--video'),
      'CHAT-18': expect.stringContaining('--sandbox'),
      'VID-25': expect.stringContaining('--video'),
      'HOOK-1': expect.stringContaining('--webhook-listen'),
      'KEY-4': null,
    });
    expect(lesser).toMatchObject({ passed: 1, failed: 0, skipped: 7 });
  });

  it('skips what would cost more than it may spend, and spends nothing', async () => {
    const frugal = await runContract({ ...gateway.options, allowSpendUsd: '0', only: ['IMG-1', 'CHAT-1'] });
    expect(frugal).toMatchObject({ passed: 0, failed: 0, skipped: 2, spentUsd: '0.00' });
    expect(frugal.results[0]?.reason).toContain('--allow-spend');
  });

  it('does not begin with a rule that there is not', async () => {
    await expect(runContract({ ...gateway.options, only: ['NO-1'] })).rejects.toThrow('NO-1');
  });
});
