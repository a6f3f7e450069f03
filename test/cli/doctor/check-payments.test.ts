import { expect, test } from 'vitest';
import { checkPayments } from '../../../src/cli/doctor/check-payments.ts';
import { listOf } from '../../../src/cli/doctor/finding.ts';
import { readConfig } from '../../../src/config/config.ts';

test.each([
  ['wallets', { WALLET_ACCOUNTS: 'on' }, ['problem']],
  ['nobody', {}, []],
])(
  'networks are checked if they sell to wallets alone, and not if they sell to nobody: %s',
  async (_to, set, statuses) => {
    const nowhere = 'http://127.0.0.1:1';
    const chain = { X402_NETWORKS: 'eip155:84532', X402_EVM_RPC_URL: nowhere, X402_FACILITATOR_URL: nowhere };
    const config = readConfig({ LEADS_SOURCES: 'none', ...chain, ...set }, null);
    const found = listOf(await checkPayments(config, new AbortController().signal));
    expect(found.map(({ status }) => status)).toEqual(statuses);
  },
);
