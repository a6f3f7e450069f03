import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startGatewayProcess, type GatewayProcess } from '../../scripts/gateway-process.ts';
import { cliArguments } from '../../scripts/node-arguments.ts';
import { onCore, type Core } from './cores.ts';

const run = promisify(execFile);
/** The charge of a call, in nano-dollars, by the prices below. */
export const chargeOf = (promptTokens: number, outputTokens: number): number =>
  promptTokens * 1_000 + outputTokens * 2_000;

const model = (name: string): string => `
  ${name}:
    kind: chat
    price: { unit: token, input_usd_per_1m: "1", output_usd_per_1m: "2" }
    routes: [{ provider: up, model: ${name} }]`;

/** A data folder with settings and one account with money and a key, made as an operator makes them. */
export interface Site {
  dataDir: string;
  environment: Record<string, string>;
  apiKey: string;
  accountId: string;
  remove(): Promise<void>;
}

/** Runs a command of the operator and returns its JSON. */
const runCommand = async <T>(environment: Record<string, string>, ...args: string[]): Promise<T> => {
  const { stdout } = await run(process.execPath, [...cliArguments, '--json', ...args], { env: environment });
  return JSON.parse(stdout) as T;
};

export const makeSite = async (upstreamPort: number, more: Record<string, string>): Promise<Site> => {
  const folder = await mkdtemp(join(tmpdir(), 'causeway-bench-'));
  const settings = join(folder, 'causeway.yaml');
  await writeFile(
    settings,
    `providers:
  up: { type: openai, base_url: "http://127.0.0.1:${upstreamPort}/v1", idle_ms: 600000 }
models:${['at-once', 'stream', 'paced', 'held'].map(model).join('')}
`,
  );
  const dataDir = join(folder, 'data');
  const environment = {
    DATA_DIR: dataDir,
    CAUSEWAY_CONFIG: settings,
    LOG_LEVEL: 'info',
    REQUESTS_PER_MINUTE: '1000000',
    SEARCH_RATE_PER_MINUTE: '1000000',
    ...more,
  };
  const { account } = await runCommand<{ account: { id: string } }>(
    environment,
    ...['accounts', 'create', '--name', 'Bench', '--approved'],
  );
  await runCommand(environment, 'credit', account.id, '1000000', '--reason', 'bench');
  const { key } = await runCommand<{ key: string }>(environment, 'keys', 'issue', account.id);
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  return { dataDir, environment, apiKey: key, accountId: account.id, remove };
};

/** Starts a gateway on a core as `npm start` does, with its log in a file. Resolves when it listens. */
export const startGateway = (
  environment: Record<string, string>,
  core: Core = 'gateway',
): Promise<GatewayProcess> => {
  const log = join(environment['DATA_DIR'] ?? tmpdir(), '..', 'gateway.log');
  return startGatewayProcess(environment, [...onCore(core), ...['sh', '-c', 'exec "$@" 2>>"$0"', log]]);
};

/** Resolves when everything is loaded: /health/ready answers 200. */
export const untilReady = async (url: string): Promise<void> => {
  for (let tries = 0; tries < 600; tries += 1) {
    const { status } = await fetch(`${url}/health/ready`);
    if (status === 200) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('The gateway is not ready after 30 s.');
};
