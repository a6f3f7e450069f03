import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { gatewayArguments } from '../../scripts/node-arguments.ts';
import { startChains } from '../chains/start-chains.ts';
import { createBuyer } from '../payments/support/buyer.ts';

describe('a gateway with its keys in files', () => {
  it('settles with them and writes them nowhere, however much it logs', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'causeway-keys-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const chains = await startChains();
    const files: Record<string, string> = {};
    const { environment: all } = chains;
    const keyNames = ['X402_EVM_FACILITATOR_KEY', 'X402_SOLANA_FACILITATOR_KEY'] as const;
    const keys = keyNames.map((name) => all[name] ?? '');
    for (const name of keyNames) {
      files[`${name}_FILE`] = join(folder, name);
      await writeFile(join(folder, name), `${all[name]}\n`, { mode: 0o600 });
    }
    const { X402_EVM_FACILITATOR_KEY: _evm, X402_SOLANA_FACILITATOR_KEY: _solana, ...environment } = all;
    const child = spawn(process.execPath, gatewayArguments, {
      env: {
        PATH: process.env['PATH'],
        PORT: '0',
        DATA_DIR: join(folder, 'data'),
        SYNTHETIC_PROFILES: '500',
        LOG_LEVEL: 'debug',
        ...environment,
        ...files,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => void (output += text));
    const exited = once(child, 'exit');
    try {
      await vi.waitFor(() => expect(output).toContain('Stop it with'), { timeout: 60_000 });
      const url = /listening on (http:\/\/\S+)/.exec(output)?.[1] ?? '';
      await chains.base.mint(chains.base.buyer.address, 1_000_000n);
      const buyer = await createBuyer(chains);
      const owed = await fetch(`${url}/v1/search?limit=1`);
      const header = owed.headers.get('payment-required') ?? '';
      const body = (await owed.json()) as Parameters<typeof buyer.prove>[0]['body'];
      const { paymentSignature = '' } = await buyer.prove(
        { header, body, paymentRequired: JSON.parse(Buffer.from(header, 'base64').toString('utf8')) },
        'base',
      );
      const headers = { 'payment-signature': paymentSignature };
      expect((await fetch(`${url}/v1/search?limit=1`, { headers })).status).toBe(200);
    } finally {
      child.kill('SIGTERM');
      await exited;
      await chains.stop();
    }
    expect(output).toContain('"level"');
    for (const key of keys) {
      expect(key.length).toBeGreaterThan(60);
      expect(output).not.toContain(key);
      expect(output).not.toContain(key.slice(2, 40));
    }
  }, 60_000);
});
