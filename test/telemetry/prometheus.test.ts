import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { freePort } from '../limits/listening-port.ts';
import { comparedIn, dashboardExpressions, ruleExpressions } from './expressions.ts';
import { startUsedGateway } from './used-gateway.ts';

const run = promisify(execFile);

/** The folder of the programs `prometheus` and `promtool`, which npm cannot bring. */
const folder = process.env['TEST_PROMETHEUS'];

/** Starts Prometheus with the project's own files, which here scrape one address each second. Answers its address. */
const startPrometheus = async (target: string): Promise<string> => {
  const data = await mkdtemp(join(tmpdir(), 'causeway-prometheus-'));
  const file = join(data, 'prometheus.yml');
  const settings = await readFile('deploy/prometheus/prometheus.yml', 'utf8');
  await writeFile(
    file,
    settings
      .replace('127.0.0.1:9464', target)
      .replace('scrape_interval: 15s', 'scrape_interval: 1s')
      .replace('alerts.yml', resolve('deploy/prometheus/alerts.yml')),
  );
  const address = `127.0.0.1:${await freePort()}`;
  const child = spawn(
    join(folder ?? '', 'prometheus'),
    [`--config.file=${file}`, `--storage.tsdb.path=${data}`, `--web.listen-address=${address}`],
    { stdio: 'ignore' },
  );
  onTestFinished(async () => {
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    await exited;
    await rm(data, { recursive: true, force: true });
  });
  return `http://${address}`;
};

/** A sandbox has neither 5xx nor failures that others cause, so their rules are asked for all answers and failures. */
const withoutFaults = (expression: string): string =>
  expression.replace(/http_response_status_code=~"5\.\."|causeway_failure!="fatal"/, '');

describe.skipIf(folder === undefined)('a real Prometheus (TEST_PROMETHEUS)', () => {
  it('takes the rules and the settings', async () => {
    const promtool = join(folder ?? '', 'promtool');
    const rules = await run(promtool, ['check', 'rules', 'deploy/prometheus/alerts.yml']);
    expect(rules.stdout).toContain(`SUCCESS: ${ruleExpressions().length} rules found`);
    const settings = await run(promtool, ['check', 'config', 'deploy/prometheus/prometheus.yml']);
    expect(settings.stdout).toContain('is valid prometheus config file syntax');
  });

  it('has an answer to every expression of the dashboard, and to what every rule compares', async () => {
    const used = await startUsedGateway();
    onTestFinished(() => used.stop());
    const url = new URL(used.search.gateway.services.telemetry?.url ?? '');
    const prometheus = await startPrometheus(url.host);
    const query = async (text: string): Promise<unknown[]> => {
      const response = await fetch(`${prometheus}/api/v1/query?query=${encodeURIComponent(text)}`);
      const { status, data } = (await response.json()) as { status: string; data?: { result: unknown[] } };
      if (status !== 'success' || data === undefined) throw new Error(`${text}: ${status}`);
      return data.result;
    };
    // A rate needs a series before and after an event.
    await used.useAll();
    await vi.waitUntil(async () => (await query('up == 1').catch(() => [])).length > 0, { timeout: 60_000 });
    await pause(2_500);
    await used.useAll();
    const asked = [
      ...dashboardExpressions().map(({ text }) => text),
      ...ruleExpressions().flatMap(comparedIn).map(withoutFaults),
    ];
    const silent = async (): Promise<string[]> => {
      const answers = await Promise.all(asked.map(async (text) => ({ text, found: await query(text) })));
      return answers.filter(({ found }) => found.length === 0).map(({ text }) => text);
    };
    await expect.poll(silent, { timeout: 60_000, interval: 1_000 }).toEqual([]);
  }, 90_000);
});
