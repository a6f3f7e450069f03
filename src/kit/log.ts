import { pino, stdSerializers, type Logger } from 'pino';
import { constants, fstatSync, openSync, write, writeSync } from 'node:fs';

export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error' | 'child'>;

/**
 * Creates the process's log on stderr: JSON lines, or lines for people if `output` has a terminal. Stdout is for MCP
 * over stdio and for the output of commands.
 */
export const createLog = (
  level: string,
  output: LogOutput = createLogOutput(),
  /** Returns further fields for each line. */
  fields?: () => object,
): Log =>
  pino(
    {
      level,
      base: undefined,
      ...(fields === undefined ? {} : { mixin: fields }),
      serializers: { err: output.isTerminal && level !== 'debug' ? withoutStack : toFields },
      redact: {
        paths: ['*.apiKey', '*.privateKey', '*.authorization', 'apiKey', 'privateKey', 'authorization'],
      },
    },
    output,
  );

/** Pino's own serializer writes marks into what it reads, and throws where an error, or a part of it, is frozen. */
const toFields = (error: unknown): unknown => {
  if (!(error instanceof Error)) return error;
  try {
    return stdSerializers.err(error);
  } catch {
    const { name: type, message, stack } = error;
    return { type, message, stack };
  }
};

/** Keeps the stack, which fills a terminal, out of a line. */
const withoutStack = (error: unknown): unknown => {
  const fields = toFields(error);
  return error instanceof Error ? { ...(fields as object), stack: undefined } : fields;
};

/** A log without output, for tests and commands. */
export const silentLog: Log = pino({ level: 'silent' });

/** The output of the log. Its methods do not throw, and callers do not wait until a line is written. */
export type LogOutput = ReturnType<typeof createLogOutput>;

/** Writes some or all of the bytes, and passes their number to `done`. Calls `done` once, after it has returned. */
export type WriteBytes = (
  bytes: Uint8Array,
  done: (error: NodeJS.ErrnoException | null | undefined, written: number) => void,
) => void;

interface LogOutputOptions {
  /** In characters. */
  maxWaiting?: number;
  writeNow?: (text: string) => unknown;
  /** Turns a JSON line into one for people. */
  terminalLine?: ((line: string) => string) | undefined;
}

const writeToStderr = (text: string): number => writeSync(2, text);
const maxWaitingCharacters = 1024 ** 2;
const retryMs = 50;
/** Lines that come within this time are written together: each write has a price of its own. */
const gatherMs = 10;

/**
 * Writes lines in batches. Drops and counts lines while the output fails (a full disk), or while more than `maxWaiting`
 * characters wait (a pipe that nobody reads). The next written batch begins with their number.
 */
export const createLogOutput = (
  writeBytes: WriteBytes = openStandardError(),
  { maxWaiting = maxWaitingCharacters, writeNow = writeToStderr, terminalLine }: LogOutputOptions = {},
) => {
  const toLine = (json: string): string => terminalLine?.(json) ?? json;
  let waiting: string[] = [];
  let waitingCharacters = 0;
  let isWriting = false;
  let isLineTorn = false;
  let untold = 0;
  let idle = Promise.withResolvers<void>();

  const writeNext = (): void => {
    isWriting = waiting.length > 0;
    if (!isWriting) return idle.resolve();
    const lines = waiting;
    const told = untold;
    waiting = [];
    waitingCharacters = 0;
    const head = `${isLineTorn ? '\n' : ''}${told > 0 ? toLine(noticeOf(told)) : ''}`;
    const batch = Buffer.from(head + lines.join(''));

    const attempt = (rest: Buffer): void =>
      writeBytes(rest, (error, written) => {
        if (error?.code === 'EAGAIN') {
          setTimeout(attempt, retryMs, rest).unref();
          return;
        }
        if (error) {
          if (batch.length - rest.length >= head.length) untold -= told;
          // The head was written first, so the remaining line breaks are those of lost lines.
          untold += Math.min(lines.length, rest.toString().split('\n').length - 1);
          writeNext();
          return;
        }
        const left = rest.subarray(written);
        isLineTorn = rest[written - 1] !== newline;
        if (left.length > 0) return attempt(left);
        untold -= told;
        writeNext();
      });
    attempt(batch);
  };

  return {
    isTerminal: terminalLine !== undefined,
    write: (json: string): void => {
      const line = toLine(json);
      if (waitingCharacters + line.length > maxWaiting) {
        untold += 1;
        return;
      }
      waiting.push(line);
      waitingCharacters += line.length;
      if (isWriting) return;
      isWriting = true;
      idle = Promise.withResolvers();
      setTimeout(writeNext, gatherMs);
    },
    /** Resolves when every line is written or dropped, or after `timeoutMs`. */
    flush: async (timeoutMs: number): Promise<void> => {
      if (!isWriting) return;
      const late = Promise.withResolvers<void>();
      const timer = setTimeout(late.resolve, timeoutMs);
      await Promise.race([idle.promise, late.promise]);
      clearTimeout(timer);
    },
    /** Writes what waits at once, for a process that ends now. */
    writeLast: (): void => {
      try {
        if (waiting.length > 0) writeNow(waiting.splice(0).join(''));
      } catch {
        // The output cannot be written, so there is no place to report it.
      }
    },
  };
};

const newline = 0x0a;

const noticeOf = (dropped: number): string =>
  `${JSON.stringify({
    level: 40,
    time: Date.now(),
    dropped,
    msg: 'log lines were dropped: the output could not be written, or was not read in time',
  })}\n`;

/** Opens stderr so that neither the event loop nor a thread waits for its reader, which would keep the process alive. */
const openStandardError = (): WriteBytes => {
  const stat = fstatSync(2);
  if (stat.isFIFO() || stat.isSocket()) {
    const { stderr } = process;
    // The callback of each write gets its error.
    stderr.on('error', () => {});
    return (bytes, done) => void stderr.write(bytes, (error) => done(error, bytes.length));
  }
  const fd = stat.isCharacterDevice() ? openAgain() : 2;
  return (bytes, done) => write(fd, bytes, done);
};

/** Opens the terminal again in its own mode, so that a stopped terminal refuses bytes instead of making the writer wait. */
const openAgain = (): number => {
  try {
    return openSync('/proc/self/fd/2', constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    // Not Linux, or this user may not open it.
    return 2;
  }
};
