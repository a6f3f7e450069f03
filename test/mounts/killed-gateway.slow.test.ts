import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startHttpMcp } from './http-mcp-server.ts';
import { layKillableGateway } from './killable-gateway.ts';
import { hostileProgram } from './mount-yaml.ts';
import { makeFolder } from './start-mounts.ts';
import { centTerms, payYaml, walletKey } from './x402-terms.ts';

it('charges nothing and never runs a call again whose gateway was killed between hold and answer', async () => {
  const runsFile = join(makeFolder(), 'runs');
  const { start, ask } = await layKillableGateway(
    { args: [hostileProgram], env: ['RUNS_FILE'], prices: { hang: 1 } },
    { RUNS_FILE: runsFile },
  );
  const call = { body: {}, key: 'hang-1' };

  const first = await start('hang');
  const lost = ask(first, '/v1/tools/hostile/hang', call).catch(() => 'lost');
  await expect.poll(() => existsSync(runsFile), { timeout: 30_000 }).toBe(true);
  expect(await (await ask(first, '/v1/balance')).json()).toMatchObject({ balance_usd: '9.00' });
  await first.kill();
  expect(await lost).toBe('lost');

  const second = await start('hang');
  const again = await ask(second, '/v1/tools/hostile/hang', call);
  expect(again.status).toBe(502);
  expect(await again.json()).toMatchObject({ error: { code: 'outcome_unknown' } });
  expect(await (await ask(second, '/v1/balance')).json()).toMatchObject({ balance_usd: '10.00' });
  expect(readFileSync(runsFile, 'utf8')).toBe('run\n');
});

it('never pays a sold server again for a call whose gateway was killed between payment and answer', async () => {
  const proofs: unknown[] = [];
  const { origin } = await startHttpMcp(({ body }, response) => {
    if (!body.includes('"tools/call"')) return false;
    const { id, params } = JSON.parse(body) as { id: number; params: { _meta: Record<string, unknown> } };
    const proof = params._meta['x402/payment'];
    // A call that is paid gets no answer.
    if (proof !== undefined) return proofs.push(proof) > 0;
    const error = { code: 402, message: 'pay', data: centTerms };
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id, error }));
    return true;
  });
  const { start, ask } = await layKillableGateway(
    { url: `${origin}/mcp`, private: true, prices: { echo: 1 }, pay: payYaml },
    { WALLET_KEY: walletKey },
  );
  const call = { body: {}, key: 'echo-1' };

  const first = await start('echo');
  const lost = ask(first, '/v1/tools/hostile/echo', call).catch(() => 'lost');
  await expect.poll(() => proofs.length, { timeout: 30_000 }).toBe(1);
  await first.kill();
  expect(await lost).toBe('lost');

  const second = await start('echo');
  const again = await ask(second, '/v1/tools/hostile/echo', call);
  expect(await again.json()).toMatchObject({ error: { code: 'outcome_unknown' } });
  expect(await (await ask(second, '/v1/balance')).json()).toMatchObject({ balance_usd: '10.00' });
  expect(proofs).toHaveLength(1);
});
