import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { isJsonObject, parseJson, type JsonObject } from '../kit/json.ts';
import type { Log } from '../kit/log.ts';
import { pause } from '../kit/repeat.ts';
import { createLines, type LongLine } from './create-lines.ts';
import { toGuardedCommand } from './guarded-command.ts';
import { hideSecrets } from './hide-secrets.ts';
import type { MountTarget } from './mount-settings.ts';
import { endGroup, type ProcessGroups } from './process-groups.ts';
import { failedResult, UnsentError } from './mounted-server.ts';

/** The longest message of a server, and the most that waits for one which does not read before more is refused. */
const maxMessageBytes = 2 * 1024 ** 2;
/** A server that sends more messages in a minute which nobody asked for is ended. */
const maxUnaskedPerMinute = 5_000;
/** A call that tells of its progress more often sends messages which nobody asked for. */
const maxProgressPerCall = 10_000;
/** Of all lines in a minute but answers: to read more would hold up the event loop. */
const maxOtherCharacters = 64 * 1024 ** 2;
const maxLogLine = 1_000;
/** A secret in a line is hidden before the line is cut. */
const maxReadLine = 16_384;
/** After its end, what a process wrote last is read for so long. A descendant may hold its pipes for ever. */
const lastWordsMs = 500;
const maxLogLinesPerMinute = 60;
/** How long the process has to end after each of the steps that end it. */
const afterEndMs = 500;
const afterTermMs = 2_000;
const afterKillMs = 2_000;

/**
 * Runs a program as an MCP server. The SDK's own transport ends its child alone, waits forever for a full pipe, and
 * hands more of the environment over than it is told. This one leads a group of processes and ends the group, passes over
 * lines that are no messages, and bounds all that the program sends.
 */
export const createStdioTransport = (
  program: Extract<MountTarget, { kind: 'stdio' }>,
  { log, groups }: { log: Log; groups: Pick<ProcessGroups, 'note' | 'forget'> },
): Transport => {
  let child: ChildProcess | null = null;
  let closing: Promise<void> | null = null;
  let forgotten: Promise<void> = Promise.resolve();
  const logged = createMinuteCount(maxLogLinesPerMinute);

  const fail = (problem: string): void => {
    transport.onerror?.(new Error(problem));
    child?.stdout?.destroy();
    void transport.close();
  };
  const receiver = createReceiver({ fail, take: (message) => transport.onmessage?.(message as never) });
  const readOutput = createLines({
    maxBytes: maxMessageBytes,
    ...receiver,
    onFlood: () => fail('the server sent a message without an end'),
  });
  const note = (line: string): void => {
    if (!logged())
      log.info({ line: hideSecrets(line, program).slice(0, maxLogLine) }, 'a mounted server writes');
  };
  const readErrors = createLines({
    maxBytes: maxReadLine,
    onLine: note,
    onLong: ({ start }) => note(start),
    onFlood: () => undefined,
  });

  const transport: Transport = {
    start: async () => {
      const [command = '', ...args] = await toGuardedCommand(program);
      if (closing !== null) throw new UnsentError('the server was ended before it started');
      const started: ChildProcess = spawn(command, args, {
        env: { ...program.env },
        detached: true,
        stdio: ['pipe', 'pipe', 'pipe'],
      });
      child = started;
      const noted = started.pid === undefined ? Promise.resolve() : groups.note(started.pid);
      started.on('error', (error) => transport.onerror?.(error));
      // A pipe of a process that has ended fails, and its exit tells. There are none without file descriptors.
      for (const pipe of [started.stdin, started.stdout, started.stderr]) pipe?.on('error', () => undefined);
      // 'close' would wait for descendants that hold the pipes.
      started.once('exit', () => {
        endGroup(started.pid ?? 0, 'SIGKILL');
        setTimeout(() => {
          started.stdout?.destroy();
          started.stderr?.destroy();
        }, lastWordsMs).unref();
        forgotten = Promise.allSettled([noted])
          .then(() => groups.forget(started.pid ?? 0))
          .catch((error: unknown) => log.warn({ err: error }, 'the note of a process could not be removed'));
        transport.onclose?.();
      });
      started.stdout?.on('data', readOutput);
      started.stderr?.on('data', readErrors);
      await once(started, 'spawn');
      await noted;
    },
    send: async (message) => {
      const stdin = child?.stdin;
      if (child === null || isEnded(child) || !stdin?.writable)
        throw new UnsentError('the server is not running');
      if (stdin.writableLength > maxMessageBytes)
        throw new UnsentError('the server does not read what it is sent');
      receiver.noteSent(message);
      // Not awaited: 'drain' never comes from a process that ends with a full pipe.
      stdin.write(`${JSON.stringify(message)}\n`);
    },
    close: () => (closing ??= child === null ? forgotten : endProcess(child).then(() => forgotten)),
  };
  return transport;
};

/** Reads what a server sends. `take`: gets each message, whose form the SDK checks itself. `fail`: ends the server. */
const createReceiver = ({
  fail,
  take,
}: {
  fail: (problem: string) => void;
  take: (message: object) => void;
}) => {
  const unasked = createMinuteCount(maxUnaskedPerMinute);
  const others = createMinuteCount(maxOtherCharacters);
  /** How often the requests without an answer have told of their progress, by their ids. */
  const open = new Map<unknown, number>();
  const isAnswer = ({ method, id }: JsonObject): boolean => method === undefined && open.delete(id);
  const isProgress = ({ method, params }: JsonObject): boolean => {
    // The SDK asks for progress by the id of the request.
    const id = method === 'notifications/progress' && isJsonObject(params) ? params['progressToken'] : null;
    const told = open.get(id) ?? maxProgressPerCall;
    if (told < maxProgressPerCall) open.set(id, told + 1);
    return told < maxProgressPerCall;
  };
  return {
    noteSent: (message: JSONRPCMessage): void => {
      if (!('method' in message)) return;
      if ('id' in message) open.set(message.id, 0);
      if (message.method === 'notifications/cancelled') open.delete(message.params?.['requestId']);
    },
    onLine: (line: string): void => {
      const parsed = parseJson(line);
      const message: JsonObject = isJsonObject(parsed) ? parsed : {};
      if (!isAnswer(message)) {
        if (others(line.length))
          return fail(`the server sent more than ${maxOtherCharacters} characters in a minute`);
        if (!isProgress(message) && unasked())
          return fail(`the server sent more than ${maxUnaskedPerMinute} unasked messages in a minute`);
      }
      if (message === parsed) take(message);
    },
    /** An answer that is too long ends its own call, and not those of others. */
    onLong: ({ start, end }: LongLine): void => {
      const id = Number(lastId.exec(end)?.[1] ?? firstId.exec(start)?.[1]);
      if (!open.delete(id)) return fail(`the server sent a message of more than ${maxMessageBytes} bytes`);
      const result = failedResult(
        `The answer of this tool is longer than ${maxMessageBytes} bytes, and was not passed on. Ask for less.`,
      );
      take({ jsonrpc: '2.0', id, result });
    },
  };
};

/** The id of a message, as the last member and as the first or after the version of JSON-RPC. */
const lastId = /"id"\s*:\s*(\d+)\s*\}\s*$/;
const firstId = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+)\s*,/;

/** Returns a function that counts, and tells whether there were more than `most` in this minute. */
const createMinuteCount = (most: number): ((more?: number) => boolean) => {
  let count = 0;
  let startedAt = performance.now();
  return (more = 1) => {
    if (performance.now() - startedAt > 60_000) [count, startedAt] = [0, performance.now()];
    count += more;
    return count > most;
  };
};

const isEnded = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null;

/** Ends a process and its descendants: the end of its input, then TERM, then KILL, each for the whole group. */
const endProcess = async (child: ChildProcess): Promise<void> => {
  const { pid } = child;
  if (pid === undefined) return;
  const exited = isEnded(child) ? Promise.resolve() : once(child, 'exit');
  const gone = new AbortController();
  void exited.then(() => gone.abort());
  const isGoneAfter = async (ms: number): Promise<boolean> => {
    await pause(ms, gone.signal, { keepsAlive: true });
    return isEnded(child);
  };
  child.stdin?.end();
  if (await isGoneAfter(afterEndMs)) return;
  endGroup(pid, 'SIGTERM');
  if (await isGoneAfter(afterTermMs)) return;
  endGroup(pid, 'SIGKILL');
  await isGoneAfter(afterKillMs);
};
