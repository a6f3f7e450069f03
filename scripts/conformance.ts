import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, request as send, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { z } from 'zod';
import { openBrowser } from '../test/rest/connect/assistant.ts';
import { startGatewayProcess } from './gateway-process.ts';

// Runs the protocol's conformance suite against a gateway on loopback, and compares the failures with the recorded ones.

const suite = join(import.meta.dirname, '../node_modules/@modelcontextprotocol/conformance/dist/index.js');
const suiteTimeoutMs = 120_000;

const revisionSchema = z.array(
  z.object({
    reason: z.string(),
    /** How many checks of each scenario fail; 1 also where none passes or fails. */
    failed: z.record(z.string(), z.int().positive()),
  }),
);
const expectedSchema = z.record(z.string(), revisionSchema);

const listen = async (server: Server): Promise<number> => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return address.port;
};

/** Adds the key to each request, which the suite cannot send. */
const createKeyProxy = (url: string, apiKey: string): Server => {
  const { hostname, port } = new URL(url);
  return createServer((request, response) => {
    const headers = { authorization: `Bearer ${apiKey}`, ...request.headers };
    const { method, url: path } = request;
    const forwarded = send({ hostname, port, path, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    forwarded.on('error', () => response.destroy());
    request.pipe(forwarded);
  });
};

/** Runs the scenarios that a revision requires. Returns how many checks fail of each scenario that fails. */
const runSuite = async (url: string, revision: string): Promise<Map<string, number>> => {
  const words = [suite, 'server', '--url', url, '--requirements', revision];
  const options = { timeout: suiteTimeoutMs, maxBuffer: 64 * 1024 ** 2 };
  // It ends with an error when a scenario fails.
  const text = await promisify(execFile)(process.execPath, words, options).then(
    ({ stdout }) => stdout,
    (error: unknown) => z.object({ stdout: z.string() }).parse(error).stdout,
  );
  return readSummary(text);
};

const readSummary = (text: string): Map<string, number> => {
  const lines = [...text.matchAll(/^[✓✗] ([\w-]+): (\d+) passed, (\d+) failed/gm)];
  if (lines.length === 0) throw new Error(`The suite has no summary:\n${text.slice(-2_000)}`);
  return new Map(
    lines
      // A scenario of which nothing ran is no success.
      .map(([, name = '', passed, failed]): [string, number] => [
        name,
        Number(passed) === 0 ? 1 : Number(failed),
      ])
      .filter(([, failed]) => failed > 0),
  );
};

/** Runs the scenarios for authorization servers. Registers a client for them, and signs in as a person does. */
const runAuthorization = async (url: string, apiKey: string): Promise<Map<string, number>> => {
  const free = createServer();
  const port = await listen(free);
  free.close();
  const registered = await fetch(`${url}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: [`http://127.0.0.1:${port}/callback`] }),
  });
  const { client_id: clientId } = z.object({ client_id: z.string() }).parse(await registered.json());
  const words = [suite, 'authorization', '--url', `${url}/oauth`, '--port', `${port}`];
  const asked = ['--client-id', clientId, '--resource', `${url}/mcp/account`];
  const child = spawn(process.execPath, [...words, ...asked], {
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: suiteTimeoutMs,
  });
  let text = '';
  for await (const line of createInterface({ input: child.stdout })) {
    text += `${line}\n`;
    if (line.startsWith(`${url}/oauth/authorize?`)) await allow(line, { url, apiKey });
  }
  return readSummary(text);
};

/** Opens an address in a browser, allows what is asked for there, and goes back to the program that asks. */
const allow = async (page: string, { url, apiKey }: { url: string; apiKey: string }): Promise<void> => {
  const browser = openBrowser();
  const entered = new URL((await browser.go(page)).headers.get('location') ?? '', url);
  const body = new URLSearchParams({ key: apiKey, budget_day_usd: '1', answer: 'allow', scope: 'read' });
  const back = await browser.follow(await browser.go(entered, { method: 'POST', body }), url);
  if (!(back instanceof URL)) throw new Error(`The page answers ${back.status}: ${await back.text()}`);
  await fetch(back);
};

const compare = (revision: string, found: Map<string, number>, expected: Map<string, number>): string[] =>
  [...new Set([...found.keys(), ...expected.keys()])]
    .filter((name) => found.get(name) !== expected.get(name))
    .map(
      (name) =>
        `${revision} ${name}: ${found.get(name) ?? 0} checks fail, ${expected.get(name) ?? 0} are recorded`,
    );

const file = join(import.meta.dirname, 'conformance-expected.json');
const expected = expectedSchema.parse(JSON.parse(await readFile(file, 'utf8')));
const folder = await mkdtemp(join(tmpdir(), 'conformance-'));
const gateway = await startGatewayProcess({ DATA_DIR: folder, LOG_LEVEL: 'silent' });
const apiKey = gateway.apiKey ?? '';
const proxy = createKeyProxy(gateway.url, apiKey);
try {
  const port = await listen(proxy);
  const differences: string[] = [];
  for (const [revision, groups] of Object.entries(expected)) {
    const found =
      revision === 'authorization'
        ? await runAuthorization(gateway.url, apiKey)
        : await runSuite(`http://127.0.0.1:${port}/mcp`, revision);
    const recorded = new Map(groups.flatMap(({ failed }) => Object.entries(failed)));
    differences.push(...compare(revision, found, recorded));
    console.log(`${revision}: ${found.size} scenarios fail, ${recorded.size} are recorded with reasons`);
  }
  for (const difference of differences) console.error(difference);
  if (differences.length > 0) {
    console.error(`Mend the gateway, or record it with a reason in ${file}.`);
    process.exitCode = 1;
  }
} finally {
  proxy.close();
  await gateway.stop();
  await rm(folder, { recursive: true, force: true });
}
