import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import { createApp, type App } from './gateway/app.ts';
import { createAuthenticate } from './accounts/authenticate.ts';
import type { Config } from './config/config.ts';
import { loadConfig } from './config/load-config.ts';
import { onStopSignals, stopSignals, whenOrphaned } from './kit/process.ts';
import { ConfigError } from './kit/errors.ts';
import { chosenKeyText, firstStartText, localKey, openFirstAccount } from './gateway/first-start.ts';
import { accountNotices } from './gateway/start-notices.ts';
import { isApiKey } from './kit/ids.ts';
import { createLog, createLogOutput, type Log } from './kit/log.ts';
import { createTerminalLine } from './kit/terminal-line.ts';
import { isOnSale, offerOf } from './operations/sale-rules.ts';
import { createServices, type GatewayServices } from './gateway/services.ts';
import { openTelemetry } from './telemetry/telemetry.ts';
import { lockDataDir } from './store/lock-data-dir.ts';
import { makeDataDir } from './store/open-store.ts';
import { watchSchema } from './gateway/watch-schema.ts';

const lastWordsMs = 2_000;
/** The process waits this long at its end for the last lines of the log. */
const logFlushMs = 1_000;
const logOutput = createLogOutput(undefined, { terminalLine: createTerminalLine() });
process.once('exit', () => logOutput.writeLast());

const end = async (code: number): Promise<never> => {
  await logOutput.flush(logFlushMs);
  process.exit(code);
};

const readArguments = () => {
  try {
    const { values } = parseArgs({
      options: {
        'env-file': { type: 'string' },
        stdio: { type: 'boolean', default: false },
      },
    });
    return { envFile: values['env-file'], isStdio: values.stdio };
  } catch (error) {
    throw new ConfigError(error instanceof Error ? error.message : 'the arguments are wrong');
  }
};

const listen = async ({ server }: App, { host, port }: Config): Promise<string> => {
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EADDRINUSE')
      throw new ConfigError(`PORT: ${port} on ${host} is in use; set another PORT`, { cause: error });
    throw new ConfigError(`HOST, PORT: cannot listen on ${host}:${port} (${String(code)})`, { cause: error });
  }
  const { port: actual } = server.address() as AddressInfo;
  const shown = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return `http://${shown}:${actual}`;
};

/** Refuses new work, lets running work finish within DRAIN_MS, closes everything, and exits with 0, or `process.exitCode`. */
const drainOnSignal = (
  app: App,
  services: GatewayServices,
  { release, isStdio, log }: { release: () => void; isStdio: boolean; log: Log },
): (() => void) => {
  const drain = async (): Promise<void> => {
    log.info('draining: new work is refused, running answers finish');
    const cutAt = performance.now() + services.config.drainMs + lastWordsMs;
    // Meanwhile clients can still ask for their jobs, and new work gets a clear refusal.
    await services.drain();
    app.refuseNew();
    const { server } = app;
    const closed = once(server, 'close');
    server.close();
    server.closeIdleConnections();
    // Waits a little after running jobs were aborted, so that their last answers reach the clients.
    const msLeft = Math.max(lastWordsMs, cutAt - performance.now());
    const timer = setTimeout(() => server.closeAllConnections(), msLeft);
    // Kept-alive connections end after their current answer.
    const sweep = setInterval(() => server.closeIdleConnections(), 100);
    await closed;
    clearTimeout(timer);
    clearInterval(sweep);
    await services.close();
    release();
  };
  // The signal may come more than once: from a terminal, from a launcher, and when the parent has gone.
  let draining: Promise<void> | null = null;
  const onSignal = (): void => {
    draining ??= drain().then(
      () => end(Number(process.exitCode ?? 0)),
      (error: unknown) => {
        log.error({ err: error }, 'draining failed');
        return end(1);
      },
    );
  };
  // A terminal that closes sends SIGHUP, too.
  const isInTerminal = process.stdin.isTTY;
  onStopSignals(onSignal, isStdio || isInTerminal ? stopSignals : ['SIGINT', 'SIGTERM']);
  if (!isStdio && !isInTerminal) process.on('SIGHUP', () => void reload(services, log));
  const { CAUSEWAY_LAUNCHED, npm_lifecycle_event: npmEvent } = process.env;
  if (CAUSEWAY_LAUNCHED === '1' || npmEvent === 'start' || npmEvent === 'npx') whenOrphaned(onSignal);
  return onSignal;
};

const reload = async ({ reload: apply }: GatewayServices, log: Log): Promise<void> => {
  try {
    await apply();
  } catch (error) {
    log.error({ err: error }, 'the settings are wrong, and stay as they were');
  }
};

const notApiKey = ({ brand }: Config): ConfigError =>
  new ConfigError(
    `CAUSEWAY_API_KEY: is not an API key, which is sk_${brand}_ and 43 random letters or digits. Remove it: the assistant ` +
      'then acts for the first account of its own folder. Or set a key that "causeway keys issue ACCOUNT_ID" made',
  );

const start = async ({ envFile, isStdio }: ReturnType<typeof readArguments>): Promise<void> => {
  // Files that this process writes are private.
  process.umask(0o077);
  // Read again, the env file is to win over what it set itself.
  const given = { ...process.env };
  const config = await loadConfig(given, { envFile });
  // Node and packages have variables of their own, as PGPASSWORD.
  if (envFile !== undefined) process.loadEnvFile(envFile);
  // Without --stdio the variable belongs to another program, such as the contract suite.
  const stdioKey = isStdio ? config.stdioKey : null;
  if (stdioKey !== null && !isApiKey(stdioKey)) throw notApiKey(config);
  const telemetry = await openTelemetry(config.telemetry);
  const log = createLog(config.logLevel, logOutput, telemetry?.logFields);
  process.stdout.once('error', (error) =>
    log.error(
      { err: error },
      'standard output cannot be written: what the start printed, a first API key too, may be lost ' +
        '(causeway keys issue ACCOUNT_ID makes another key)',
    ),
  );
  await makeDataDir(config.dataDir);
  const lock = lockDataDir(config.dataDir);
  const services = await createServices(config, log, {
    telemetry,
    loadConfig: () => loadConfig(given, { envFile }),
  });
  const app = createApp(services);
  const stop = drainOnSignal(app, services, { release: lock.release, isStdio, log });
  const url = await listen(app, config);
  services.listeningAt(url);
  const first = await openFirstAccount(services, stdioKey);
  // Over stdio, standard output belongs to the protocol.
  const print = (text: string): void => void (isStdio ? process.stderr : process.stdout).write(`${text}\n`);
  print(`Causeway is listening on ${url}`);
  for (const notice of services.notices()) print(notice);
  for (const notice of first === null ? await accountNotices(services) : []) print(notice);
  if (first !== null)
    print(
      stdioKey === null
        ? firstStartText({
            apiKey: first.apiKey,
            url: services.publicUrl(),
            isSearchOn: services.operations.some(({ sale }) => {
              const offer = offerOf(sale);
              return offer !== null && isOnSale(offer, services);
            }),
          })
        : chosenKeyText,
    );
  print('Stop it with Ctrl-C or SIGTERM; running answers finish first.');
  services.begin();
  watchSchema(services.store, (problem) => {
    log.error(`${problem}: this gateway ends`);
    process.exitCode = 1;
    stop();
  });
  if (isStdio) {
    const { serveStdio } = await import('./mcp/serve-stdio.ts');
    await serveStdio({
      services,
      operations: services.operations,
      authenticate: createAuthenticate(services),
      apiKey: stdioKey ?? first?.apiKey ?? (await localKey(services)),
    });
    stop();
  }
};

const main = async (): Promise<void> => {
  // Without a listener, a failed write to these outputs would end the process.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  await start(readArguments());
};

main().catch((error: unknown) => {
  const isSetting = error instanceof ConfigError;
  process.stderr.write(`${isSetting ? error.message : `Causeway could not start: ${String(error)}`}\n`);
  return end(isSetting ? 2 : 1);
});
