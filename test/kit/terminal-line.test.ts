import { describe, expect, it } from 'vitest';
import { createLog, createLogOutput, type WriteBytes } from '../../src/kit/log.ts';
import { toTerminalLine } from '../../src/kit/terminal-line.ts';

const time = Date.UTC(2026, 0, 2, 3, 4, 5);
const clock = new Date(time).toTimeString().slice(0, 8);
const shown = (fields: object, hasColors = false) =>
  toTerminalLine(`${JSON.stringify({ level: 30, time, ...fields })}\n`, hasColors);

/** Logs to a terminal at a level; returns all that it shows after the time. */
const logged = async (level: string, write: (log: ReturnType<typeof createLog>) => void) => {
  let text = '';
  const writeBytes: WriteBytes = (bytes, done) => {
    text += Buffer.from(bytes).toString();
    setImmediate(done, null, bytes.length);
  };
  const output = createLogOutput(writeBytes, { terminalLine: (line) => toTerminalLine(line, false) });
  write(createLog(level, output));
  await output.flush(60_000);
  return text.replace(/^\S+ /gm, '');
};

describe('the log on a terminal', () => {
  it('shows the time, the level, the message and the fields that have a value', () => {
    const request = {
      requestId: 'r1',
      method: 'GET',
      path: '/v1/search',
      status: 402,
      ms: 7,
      msg: 'request',
    };
    expect(shown({ ...request, trace_id: 't1', account: null })).toBe(
      `${clock} info  request method=GET path=/v1/search status=402 ms=7\n`,
    );
  });

  it('names the request of a warning or an error, so that a person can look for it', () => {
    expect(shown({ level: 40, requestId: 'r1', msg: 'slow' })).toBe(`${clock} warn  slow requestId=r1\n`);
    expect(shown({ level: 50, requestId: 'r1', msg: 'bad' })).toBe(`${clock} error bad requestId=r1\n`);
  });

  it('shows a line without a message, too', () => {
    expect(shown({ level: 60, ms: 1 })).toBe(`${clock} 60  ms=1\n`);
  });

  it('quotes what has spaces, and cuts what is long', () => {
    expect(shown({ msg: 'm', note: 'two words', list: [1, 2] })).toBe(
      `${clock} info  m note="two words" list=[1,2]\n`,
    );
    expect(shown({ msg: 'm', note: 'x'.repeat(300) })).toBe(`${clock} info  m note=${'x'.repeat(200)}…\n`);
  });

  it('colours the level, only if asked to', () => {
    expect(shown({ level: 50, msg: 'bad' }, true)).toContain('\u001b[31merror\u001b[39m');
    expect(shown({ level: 50, msg: 'bad' })).not.toContain('\u001b');
  });

  it('lets no text from outside move the cursor, or begin a line', () => {
    const line = shown({
      msg: 'a\u001b[2J\nb',
      path: '/\u001b]0;x\u0007',
      note: 'c\nd',
      err: { message: 'e\r\u202ef' },
    });
    expect(line).toBe(
      `${clock} info  a[2Jb path=/]0;x note="c\\nd" error="e\\r\u202ef"\n`.replace('\u202e', ''),
    );
  });

  it('shows the message of an error and its cause, and the stack at debug alone', async () => {
    const error = new Error('no answer', { cause: new Error('refused') });
    const fail = (log: ReturnType<typeof createLog>) => log.error({ err: error }, 'failed');
    expect(await logged('info', fail)).toBe('error failed error="no answer: refused"\n');
    const debug = await logged('debug', fail);
    expect(debug).toContain('error failed error="no answer: refused"\n');
    expect(debug).toMatch(/at .*terminal-line\.test\.ts/);
  });

  it('keeps secrets redacted', async () => {
    const line = await logged('info', (log) =>
      log.info({ apiKey: 'sk_a_b', call: { authorization: 'Bearer x' } }, 'm'),
    );
    expect(line).toBe('info  m apiKey=[Redacted] call={"authorization":"[Redacted]"}\n');
  });
});
