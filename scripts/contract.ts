import { parseArgs } from 'node:util';
import { formatResult, formatSummary } from './contract/print-report.ts';
import { runContract, type ContractOptions } from './contract/run-contract.ts';

const usage = `Asks a running server for every rule of the contract, as a customer would: over HTTP, with an API key.

  npm run contract -- --base-url URL --key KEY [options]

  --base-url URL             the server, such as http://127.0.0.1:8402
  --key KEY                  an API key; or the environment variable CAUSEWAY_API_KEY
  --other-key KEY            a key of another account with a cent, for the rules of isolation
  --poor-key KEY             a key of an account without money, for 402
  --allow-spend USD          the most that may be spent of the key's balance; default 0.50
  --video                    make videos too: two of four seconds at the lowest rate
  --sandbox                  the server's models are the sandbox's: use the words that it obeys
  --deadline SECONDS         how long the server lets a call wait for its result, at most 60; for 408
  --webhook-listen HOST:PORT where to listen for callbacks, and to serve pictures that the server shall fetch
  --webhook-url URL          the address under which the server reaches that; default the same
  --rate-limit               try the rate limits too: uses up this address's minute of searches
  --only ID,ID               these rules only (docs/contract.md has the table)
  --at-once N                checks at once; default 6
  --rate N                   requests a second at most; default 8
  --time SECONDS             of the whole run; default 900
  --json                     the report as JSON
  --help

It makes four images and some fifteen texts of 64 tokens at most, of the cheapest SKUs, and one or two images more where
it listens for callbacks: $0.16 to $0.25 at the gateway's default prices. --video adds eight seconds of video, $0.16 there.
Nothing is made whose highest price is not left of --allow-spend, and no search is paid for. What a server does not have,
or this run may not do, is skipped, and the report says why. Every call, job and check has an end, and so has the run.

Exit code 0: every rule that was asked for is kept. 1: one is broken. 2: it could not begin.`;

const longestDeadlineSeconds = 60;

const readNumber = (name: string, text: string, least: number, most: number): number => {
  const value = Number(text);
  if (!Number.isFinite(value) || value < least || value > most)
    throw new Error(`--${name}: must be a number from ${least} to ${most}`);
  return value;
};

const readListen = (listen: string, url: string | undefined): ContractOptions['webhook'] => {
  const [, host, port] = /^(.+):(\d{1,5})$/.exec(listen) ?? [];
  if (host === undefined || port === undefined) throw new Error('--webhook-listen: must be HOST:PORT');
  return { host, port: readNumber('webhook-listen', port, 0, 65_535), publicUrl: url ?? null };
};

const readOptions = (): { options: ContractOptions; isJson: boolean } | null => {
  const { values } = parseArgs({
    options: {
      'base-url': { type: 'string' },
      key: { type: 'string' },
      'other-key': { type: 'string' },
      'poor-key': { type: 'string' },
      'allow-spend': { type: 'string', default: '0.50' },
      video: { type: 'boolean', default: false },
      sandbox: { type: 'boolean', default: false },
      deadline: { type: 'string' },
      'webhook-listen': { type: 'string' },
      'webhook-url': { type: 'string' },
      'rate-limit': { type: 'boolean', default: false },
      only: { type: 'string' },
      'at-once': { type: 'string', default: '6' },
      rate: { type: 'string', default: '8' },
      time: { type: 'string', default: '900' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return null;
  const apiKey = values.key ?? process.env['CAUSEWAY_API_KEY'];
  const baseUrl = values['base-url'];
  if (baseUrl === undefined || !URL.canParse(baseUrl)) throw new Error('--base-url: must be a URL');
  if (apiKey === undefined || apiKey === '') throw new Error('--key: must be an API key');
  if (!/^\d+(?:\.\d{1,9})?$/.test(values['allow-spend']))
    throw new Error('--allow-spend: must be an amount such as 0.50');
  if (values['webhook-url'] !== undefined && values['webhook-listen'] === undefined)
    throw new Error('--webhook-url: goes with --webhook-listen');
  return {
    isJson: values.json,
    options: {
      baseUrl: baseUrl.replace(/\/+$/, ''),
      apiKey,
      otherKey: values['other-key'] ?? null,
      poorKey: values['poor-key'] ?? null,
      sandbox: values.sandbox,
      video: values.video,
      deadlineSeconds:
        values.deadline === undefined
          ? null
          : readNumber('deadline', values.deadline, 1, longestDeadlineSeconds),
      rateLimit: values['rate-limit'],
      only: values.only === undefined ? null : values.only.split(',').map((id) => id.trim()),
      allowSpendUsd: values['allow-spend'],
      webhook:
        values['webhook-listen'] === undefined
          ? null
          : readListen(values['webhook-listen'], values['webhook-url']),
      checksAtOnce: readNumber('at-once', values['at-once'], 1, 64),
      requestsPerSecond: readNumber('rate', values.rate, 0.1, 10_000),
      callTimeoutMs: 120_000,
      checkTimeoutMs: 600_000,
      runTimeoutMs: 1000 * readNumber('time', values.time, 1, 86_400),
      jobTimeoutMs: 300_000,
    },
  };
};

const main = async (): Promise<void> => {
  const read = readOptions();
  if (read === null) {
    process.stdout.write(`${usage}\n`);
    return;
  }
  const { options, isJson } = read;
  if (!isJson)
    process.stdout.write(
      `Asking ${options.baseUrl}. May spend up to $${options.allowSpendUsd} of the key's balance.\n\n`,
    );
  const report = await runContract({
    ...options,
    ...(isJson ? {} : { onResult: (result) => process.stdout.write(`${formatResult(result)}\n`) }),
  });
  process.stdout.write(isJson ? `${JSON.stringify(report, null, 2)}\n` : `\n${formatSummary(report)}\n`);
  if (report.failed > 0) process.exitCode = 1;
};

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 2;
});
