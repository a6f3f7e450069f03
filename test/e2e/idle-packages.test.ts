import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startGatewayProcess } from '../../scripts/gateway-process.ts';
import { layDataFolder } from '../data-template.ts';

/** Notes the package, or the folder of the gateway, of each module that a process and its threads load. */
const notePackages = `
  import { appendFileSync } from 'node:fs';
  import { registerHooks } from 'node:module';
  registerHooks({
    load(url, context, next) {
      const name = /(?:node_modules|build)\\/((?:@[^/]+\\/)?[^/]+)/.exec(url)?.[1];
      if (name !== undefined) appendFileSync(process.env.TEST_PACKAGES, name + '\\n');
      return next(url, context);
    },
  });
`;

/** Each takes megabytes, and a gateway may never need it. */
const onFirstUse = [
  '@modelcontextprotocol/node',
  '@modelcontextprotocol/server',
  '@opentelemetry/api',
  '@opentelemetry/core',
  '@opentelemetry/exporter-prometheus',
  '@opentelemetry/sdk-metrics',
  '@opentelemetry/sdk-trace',
  '@redis/client',
  '@resvg/resvg-js',
  '@solana/kit',
  '@x402/core',
  '@x402/evm',
  '@x402/svm',
  'ajv',
  'commander',
  'express',
  'gpt-tokenizer',
  'hyparquet',
  'json-schema-faker',
  'mediabunny',
  'operator',
  'pg',
  'sharp',
  'viem',
  'yaml',
  'zod-to-json-schema',
];

test('a gateway that has not been called has loaded no package that only some calls need', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'causeway-idle-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  layDataFolder(folder);
  const noted = join(folder, 'packages');
  const gateway = await startGatewayProcess({
    DATA_DIR: folder,
    TEST_PACKAGES: noted,
    NODE_OPTIONS: `--import "data:text/javascript,${encodeURIComponent(notePackages)}"`,
  });
  await gateway.stop();
  const packages = new Set((await readFile(noted, 'utf8')).split('\n'));
  expect([...packages]).toEqual(expect.arrayContaining(['zod', 'operations']));
  expect(onFirstUse.filter((name) => packages.has(name))).toEqual([]);
});
