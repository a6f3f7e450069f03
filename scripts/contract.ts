import { parseArgs } from 'node:util';
import { outliveReader } from './outlive-reader.ts';
import { formatResult, formatSummary } from './contract/print-report.ts';
import { runContract, type ContractOptions } from './contract/run-contract.ts';

const usage = `Checks a running server against the contract, as a customer would: over HTTP, with an API key.

  npm run contract -- --base-url URL --key KEY [options]

  --base-url URL             the server, such as http://127.0.0.1:8402
  --key KEY                  an API key; or the environment variable CAUSEWAY_API_KEY
  --other-key KEY            a key of another account with at least a cent, for the rules of isolation
  --poor-key KEY             a key of an account without money, for 402
  --allow-spend USD          spending limit for the key's balance; default 0.50
  --video                    make videos too: two of four seconds at the lowest rate
  --sandbox                  the models are sandbox models: use the sandbox's trigger words
  --deadline SECONDS         how long the server lets a call wait for its result, at most 60; for 408
  --webhook-listen HOST:PORT listen here for webhooks, and serve pictures for the server to fetch
  --webhook-url URL          the address under which the server reaches it; default the same
  --rate-limit               test the rate limits too: uses up this address's searches of a minute
  --only ID,ID               run only these rules (test/contract/rules.md has the table)
  --at-once N                concurrent checks; default 6
  --rate N                   maximum of requests per second; default 8
  --time SECONDS             limit for the whole run; default 900
  --json                     print the report as JSON
  --help

The run makes four images and some fifteen texts of at most 64 tokens, with the cheapest SKUs, and one or two more images
with --webhook-listen. That costs $0.16 to $0.25 at the gateway's default prices. --video adds eight seconds of video,
which cost $0.16. A request is sent only if --allow-spend still covers its highest price. No search is paid for. Checks
that the server or the options do not allow are skipped, and the report gives the reason. Every call, job and check has a
time limit.

Exit code 0: every requested rule is kept. 1: a rule is broken. 2: the run could not begin.`;

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
  outliveReader();
  const read = readOptions();
  if (read === null) {
    process.stdout.write(`${usage}\n`);
    return;
  }
  const { options, isJson } = read;
  if (!isJson)
    process.stdout.write(
      `Checking ${options.baseUrl}. The run may spend up to $${options.allowSpendUsd} of the key's balance.\n\n`,
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
