import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startGatewayProcess } from '../../scripts/gateway-process.ts';
import { systemClock } from '../../src/kit/clock.ts';
import { embeddedStoreFile } from '../../src/store/open-store.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite-store.ts';
import { layDataFolder } from '../data-template.ts';
import { openAccount } from '../mcp/open-account.ts';
import { startStubUpstream } from '../providers/stub-upstream.ts';

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
  'openai',
  'operator',
  'pg',
  'sharp',
  'viem',
  'yaml',
  'zod-to-json-schema',
];

/** Starts a gateway on a folder with data, and tells which packages it has loaded. */
const startNoted = async (prepare: (folder: string) => Promise<Record<string, string>>) => {
  const folder = await mkdtemp(join(tmpdir(), 'causeway-idle-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  layDataFolder(folder);
  const noted = join(folder, 'packages');
  const gateway = await startGatewayProcess({
    DATA_DIR: folder,
    TEST_PACKAGES: noted,
    NODE_OPTIONS: `--import "data:text/javascript,${encodeURIComponent(notePackages)}"`,
    ...(await prepare(folder)),
  });
  onTestFinished(() => gateway.kill());
  return { gateway, loaded: async () => new Set((await readFile(noted, 'utf8')).split('\n')) };
};

test('a gateway that has not been called has loaded no package that only some calls need', async () => {
  const { gateway, loaded } = await startNoted(async () => ({}));
  await gateway.stop();
  const packages = await loaded();
  expect([...packages]).toEqual(expect.arrayContaining(['zod', 'operations']));
  expect(onFirstUse.filter((name) => packages.has(name))).toEqual([]);
});

test('the openai package is loaded by the first image of an upstream, not by the start or a chat', async () => {
  const upstream = await startStubUpstream();
  onTestFinished(() => upstream.close());
  let apiKey = '';
  const { gateway, loaded } = await startNoted(async (folder) => {
    const store = await openSqliteStore({ file: embeddedStoreFile(folder) });
    ({ apiKey } = await openAccount({ store, clock: systemClock }));
    await store.close();
    const file = join(folder, 'causeway.yaml');
    await writeFile(
      file,
      `
providers:
  up: { type: openai, base_url: "${upstream.baseUrl}" }
models:
  some-text: { kind: chat, price: { unit: call, price_usd: "0.01" }, routes: [{ provider: up }] }
  some-image: { kind: image, price: { unit: call, price_usd: "0.04" }, routes: [{ provider: up }] }
`,
    );
    return { CAUSEWAY_CONFIG: file };
  });
  const call = async (path: string, body: object): Promise<unknown> => {
    const answer = await fetch(`${gateway.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return answer.json();
  };
  await upstream.listed;
  const messages = [{ role: 'user', content: 'Hello' }];
  const chat = await call('/v1/chat/completions', { model: 'some-text', messages });
  expect(chat).toMatchObject({ choices: [{ message: { content: 'Hello world' } }] });
  expect(await loaded()).not.toContain('openai');
  upstream.script({ kind: 'images', images: [{ b64_json: 'iVBORw0KGgo=' }] });
  const image = await call('/v1/images/generations', { model: 'some-image', prompt: 'a fox' });
  expect(image).toMatchObject({ status: 'done' });
  expect(await loaded()).toContain('openai');
});
