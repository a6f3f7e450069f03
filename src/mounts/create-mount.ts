import type { JsonObject } from '../kit/json.ts';
import { callWithin, unlessAborted } from '../kit/deadline.ts';
import { pause, throttle } from '../kit/repeat.ts';
import type { Store } from '../store/store.ts';
import type { Clock } from '../kit/clock.ts';
import type { ListedTool } from './check-tool.ts';
import type { ConnectParts } from './connect-server.ts';
import { toReason } from './hide-secrets.ts';
import type { MountConfig } from './mount-settings.ts';
import type { CallContext, MountedServer, ToolOutcome } from './mounted-server.ts';

export const usualTimes = {
  /** The wait before the first new start. Each failure doubles it. */
  firstRestMs: 100,
  longestRestMs: 30_000,
  /** A server that served so long starts again as if it had never failed. */
  forgivenAfterMs: 60_000,
  /** How often tools are listed again, if the server does not say that they changed. */
  relistMs: 300_000,
  /** The least time between two lists. */
  leastRelistMs: 2_000,
  /** A server of one account that was not called for so long ends at the next look, which is as often. */
  idleMs: 300_000,
};

export type MountTimes = typeof usualTimes;

export interface MountParts extends Omit<ConnectParts, 'onToolsChanged' | 'signal'> {
  store: Pick<Store, 'noteMountedTools'>;
  clock: Clock;
  times: MountTimes;
  /** Called when the tools are others than before. */
  onTools: () => void;
}

const unsent: MountOutcome = { kind: 'unsent' };

/** The most calls that a server has at once. One more is refused. */
export const maxCalls = 64;
export const busyMs = 2_000;
/** How long a call waits for a connection that is being opened anew, and for a server that starts. */
const reconnectMs = 10_000;
const openMs = 30_000;

/** `unsent`: the tool did not run. */
export type MountOutcome = Exclude<ToolOutcome, { kind: 'unsent' }> | { kind: 'unsent' };

export interface CalledTool {
  /** The name that the server knows. */
  tool: string;
  /** Of the definition that an operator accepted. */
  pin: string;
  input: JsonObject;
}

interface Connection {
  server: MountedServer;
  /** The calls under way. */
  calls: Set<Promise<ToolOutcome>>;
  /** Aborts when the mount takes no more calls to it. */
  left: AbortController;
}

type MountState = ReturnType<typeof createState>;

const createState = (config: MountConfig, parts: MountParts) => ({
  config,
  parts,
  /** Null: the server is away. */
  connection: null as Connection | null,
  /** The ends of connections that are left while they have calls. */
  closing: new Set<Promise<void>>(),
  /** Resolves when a server is there, or could not be opened. */
  opened: Promise.withResolvers<void>(),
  /** Resolves when the tools are to be listed again. */
  woken: Promise.withResolvers<void>(),
  /** When the server is started again, by `performance.now()`. Zero: it never failed. */
  restsUntil: 0,
  /** The number of calls under way. */
  calls: 0,
  /** The tools that the server listed last. */
  tools: new Map() as ReadonlyMap<string, ListedTool>,
  /** What the store has of these tools. */
  noted: '',
  warnOfNames: throttle(3_600_000, (names: readonly string[]) =>
    parts.log.warn(
      { names },
      'mcp_servers names tools that the server does not have, or models could not call',
    ),
  ),
});

/**
 * Keeps one server running: connects, lists its tools, and connects again, later after each failure. The last known tools
 * stay while it is away.
 */
export const createMount = (config: MountConfig, { log: parentLog, ...rest }: MountParts) => {
  const log = parentLog.child({ server: config.name });
  const state = createState(config, { ...rest, log });
  return {
    tools: () => state.tools,
    /** `starting`: for the first time. `down`: it failed or has ended, and is started again. */
    state: (): 'ready' | 'starting' | 'down' => {
      if (state.connection !== null) return 'ready';
      return state.restsUntil === 0 ? 'starting' : 'down';
    },
    /** Returns when to call again, in milliseconds; null: it can be called now. */
    restMs: (): number | null => {
      if (state.connection !== null) return state.calls < maxCalls ? null : busyMs;
      return Math.max(0, state.restsUntil - performance.now());
    },
    /** Keeps the server running until `signal` aborts; resolves when it has ended. */
    run: async (signal: AbortSignal): Promise<void> => {
      const { times } = rest;
      for (let failures = 0; !signal.aborted; failures += 1) {
        const startedAt = performance.now();
        try {
          await connect(state, signal);
          if (!signal.aborted) log.warn('a mounted server has ended');
        } catch (error) {
          if (!signal.aborted)
            log.warn({ reason: toReason(error, config.target) }, 'a mounted server cannot be used');
          state.opened.resolve();
          state.opened = Promise.withResolvers();
        }
        if (performance.now() - startedAt > times.forgivenAfterMs) failures = 0;
        const restMs = restAfter(failures, times);
        state.restsUntil = performance.now() + restMs;
        await pause(restMs, signal);
      }
      state.opened.resolve();
      await Promise.all(state.closing);
    },
    /** Waits until the server is there, or could not be opened. */
    opened: async (signal: AbortSignal): Promise<void> => {
      if (state.connection === null) await Promise.race([state.opened.promise, pause(openMs, signal)]);
    },
    /** Calls a tool once, if it is still as its pin says. Never rejects. */
    call: async (called: CalledTool, context: CallContext): Promise<MountOutcome> => {
      const { signal } = context;
      if (state.connection === null || state.calls >= maxCalls || signal.aborted) return unsent;
      state.calls += 1;
      try {
        return await callWithin({
          call: (own) => callOnce(state, called, { ...context, signal: own }),
          timeoutMs: config.timeouts.totalMs,
          signal,
        });
      } catch (cause) {
        return { kind: 'unknown', cause };
      } finally {
        state.calls -= 1;
      }
    },
  };
};

/** A call that a lost session kept from being taken is sent once more, over the next connection. Nothing else is repeated. */
const callOnce = async (
  state: MountState,
  called: CalledTool,
  context: CallContext,
): Promise<MountOutcome> => {
  const { connection } = state;
  const { tool, pin } = called;
  const isAccepted = (): boolean => state.tools.get(tool)?.pin === pin;
  if (connection === null || !isAccepted()) return unsent;
  const outcome = await callOver(connection, called, context);
  if (outcome.kind === 'answered') return outcome;
  const { kind, cause } = outcome;
  state.parts.log.warn(
    { reason: toReason(cause, state.config.target), tool, outcome: kind },
    'a call of a mounted tool came to nothing',
  );
  // Finds out whether the server still answers.
  state.woken.resolve();
  // An outcome that is unknown because of a payment stays so, unless the next connection has another one.
  const lost: MountOutcome = outcome.kind === 'unknown' ? outcome : unsent;
  if (outcome.isSessionLost !== true) return lost;
  leave(state, connection);
  await Promise.race([state.opened.promise, pause(reconnectMs, context.signal)]);
  // The tools of a server that has started anew may be others.
  if (state.connection === null || !isAccepted()) return lost;
  const again = await callOver(state.connection, called, context);
  return again.kind === 'unsent' ? lost : again;
};

const callOver = (
  { server, calls }: Connection,
  { tool, input }: CalledTool,
  context: CallContext,
): Promise<ToolOutcome> => {
  const call = server.call(tool, input, context).finally(() => calls.delete(call));
  calls.add(call);
  return call;
};

/** Takes no more calls to a connection. */
const leave = (state: MountState, connection: Connection): void => {
  if (state.connection !== connection) return;
  state.connection = null;
  state.opened = Promise.withResolvers();
  connection.left.abort();
};

/** Closes a connection after its calls. Each call has a limit of time. */
const closeAfterCalls = async ({ server, calls }: Connection, signal: AbortSignal): Promise<void> => {
  await unlessAborted(Promise.all(calls), signal).catch(() => undefined);
  await server.close();
};

/** Opens a connection, and serves until it ends. Rejects if it cannot be opened. */
const connect = async (state: MountState, signal: AbortSignal): Promise<void> => {
  // Loaded only where a server is mounted.
  const { connectServer } = await import('./connect-server.ts');
  const { config, parts } = state;
  const onToolsChanged = (): void => state.woken.resolve();
  const server = await connectServer(config, { ...parts, onToolsChanged, signal });
  const connection: Connection = { server, calls: new Set(), left: new AbortController() };
  try {
    await relist(state, server, signal);
    state.connection = connection;
    state.opened.resolve();
    parts.log.info({ tools: state.tools.size }, 'a mounted server is ready');
    await serve(state, connection, signal);
  } finally {
    // A call that lost its session does not end others, nor keep them from the next connection.
    const isLeft = connection.left.signal.aborted;
    leave(state, connection);
    if (isLeft) {
      const closed = closeAfterCalls(connection, signal).finally(() => state.closing.delete(closed));
      state.closing.add(closed);
    } else await server.close();
  }
};

/** Lists the tools now and then, until the connection ends or is left. */
const serve = async (
  state: MountState,
  { server, calls, left }: Connection,
  signal: AbortSignal,
): Promise<void> => {
  const { times, log } = state.parts;
  const over = new AbortController();
  void server.ended.then(() => over.abort());
  const isOver = AbortSignal.any([over.signal, left.signal, signal]);
  while (!isOver.aborted) {
    const waiting = new AbortController();
    await Promise.race([
      state.woken.promise,
      pause(times.relistMs, AbortSignal.any([waiting.signal, isOver])),
    ]);
    waiting.abort();
    if (isOver.aborted) return;
    state.woken = Promise.withResolvers();
    try {
      await relist(state, server, isOver);
    } catch (error) {
      if (!isOver.aborted)
        log.warn(
          { reason: toReason(error, state.config.target) },
          'the tools of a mounted server could not be listed',
        );
      // A server may be busy with a call. One without calls has failed.
      if (calls.size === 0) return;
    }
    await pause(times.leastRelistMs, isOver);
  }
};

/** Lists and checks the tools, and notes them where they are others than before. */
const relist = async (state: MountState, server: MountedServer, signal: AbortSignal): Promise<void> => {
  const { config, parts } = state;
  const listed = await server.list(signal);
  const { readTools } = await import('./read-tools.ts');
  const { found, missing } = await readTools(listed, config, state.tools);
  if (missing.length > 0) state.warnOfNames(missing);
  const tools = [...found.values()].map(({ name: tool, definition, pin, problem }) => ({
    tool,
    definition: definition && JSON.stringify(definition),
    pin,
    problem,
  }));
  const note = JSON.stringify(tools.map(({ tool, pin, problem }) => [tool, pin, problem]));
  if (note === state.noted) return;
  state.tools = found;
  parts.onTools();
  await parts.store.noteMountedTools({ server: config.name, tools, now: parts.clock.now() });
  state.noted = note;
};

/** With up to a fifth more or less, so that servers do not start together. */
const restAfter = (failures: number, { firstRestMs, longestRestMs }: MountTimes): number =>
  Math.min(longestRestMs, firstRestMs * 2 ** failures) * (0.8 + Math.random() * 0.4);
