import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import {
  createServer,
  request as send,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { z } from 'zod';
import { mountYaml } from '../test/mounts/mount-yaml.ts';
import { openBrowser } from '../test/rest/connect/assistant.ts';
import { operate, placeOf } from './demo/operate.ts';
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

/** The name of the mounted server, and how the proxy knows the tools that the suite calls there. */
const suiteServer = 'suite';
const suiteTool = /^(?=test_|json_schema_)/;

/** Adds the key to each request, which the suite cannot send. At /mcp/tools it also takes the server from the tools' names. */
const createKeyProxy = (url: string, apiKey: string): Server => {
  const { hostname, port } = new URL(url);
  return createServer((request, response) => {
    const headers = { authorization: `Bearer ${apiKey}`, ...request.headers };
    const { method, url: path } = request;
    if (path === '/mcp/tools') {
      void forwardRenamed(`${url}${path}`, { request, response, headers }).catch(() => response.destroy());
      return;
    }
    const forwarded = send({ hostname, port, path, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    forwarded.on('error', () => response.destroy());
    request.pipe(forwarded);
  });
};

/** Forwards a request whole, and answers what comes of it, with the names that the suite knows. */
const forwardRenamed = async (
  url: string,
  {
    request,
    response,
    headers: { host: _host, 'content-length': _length, connection: _connection, ...headers },
  }: { request: IncomingMessage; response: ServerResponse; headers: IncomingHttpHeaders },
): Promise<void> => {
  const toInner = (name: string): string => name.replace(suiteTool, `${suiteServer}__`);
  const body = (await text(request)).replace(/(?<="name":")\w+/g, toInner);
  const sent = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]);
  const named = sent.map(([name, value]): [string, string] => [
    name,
    name === 'mcp-name' ? toInner(value) : value,
  ]);
  const { method = 'GET' } = request;
  const signal = AbortSignal.timeout(suiteTimeoutMs);
  const answer = await fetch(url, { method, headers: named, signal, ...(body === '' ? {} : { body }) });
  const shown = [...answer.headers].filter(([name]) => !/^(?:content-length|transfer-encoding)$/.test(name));
  response.writeHead(answer.status, Object.fromEntries(shown));
  response.end((await answer.text()).replaceAll(`${suiteServer}__`, ''));
};

/** Accepts the tools of the mounted server, when it has listed them. */
const acceptTools = async (place: string): Promise<void> => {
  const giveUpAt = performance.now() + suiteTimeoutMs;
  for (;;) {
    const { tools } = (await operate(place, 'tools', 'accept', suiteServer)) as { tools: unknown[] };
    if (tools.length > 0) return;
    if (performance.now() > giveUpAt) throw new Error('the mounted server lists no tools');
    await pause(500);
  }
};

/** Runs the scenarios of tools through a mounted server. The others do not concern it. */
const runMounted = async (url: string, revision: string): Promise<Map<string, number>> =>
  new Map([...(await runSuite(url, revision))].filter(([name]) => ofTools.test(name)));
const ofTools = /^(?:tools-|json-schema-|elicitation-|input-required-)/;

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
const place = placeOf(folder);
const program = fileURLToPath(new URL('../test/mounts/conformance-server.mjs', import.meta.url));
await writeFile(place.CAUSEWAY_CONFIG, mountYaml({ [suiteServer]: { args: [program] } }));
const gateway = await startGatewayProcess({ ...place, LOG_LEVEL: 'silent' });
const apiKey = gateway.apiKey ?? '';
const proxy = createKeyProxy(gateway.url, apiKey);
try {
  const address = `http://127.0.0.1:${await listen(proxy)}/mcp`;
  await acceptTools(folder);
  const differences: string[] = [];
  for (const [revision, groups] of Object.entries(expected)) {
    const [mounted, ofMounted] = /^mounted (.+)/.exec(revision) ?? [];
    const found =
      revision === 'authorization'
        ? await runAuthorization(gateway.url, apiKey)
        : await (mounted === undefined
            ? runSuite(address, revision)
            : runMounted(`${address}/tools`, String(ofMounted)));
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
