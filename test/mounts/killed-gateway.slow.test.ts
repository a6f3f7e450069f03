import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { layKillableGateway } from './killable-gateway.ts';
import { hostileProgram } from './mount-yaml.ts';
import { makeFolder } from './start-mounts.ts';

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
