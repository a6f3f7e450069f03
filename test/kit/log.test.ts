import { expect, it } from 'vitest';
import { createLog, createLogOutput } from '../../src/kit/log.ts';

it.each([false, true])(
  'an error that is frozen, or holds a frozen one, is logged (terminal: %s)',
  (isTerminal) => {
    const lines: string[] = [];
    const output = createLogOutput((bytes, done) => done(null, bytes.length), {
      writeNow: (text) => lines.push(text),
      ...(isTerminal ? { terminalLine: (line: string) => line } : {}),
    });
    const log = createLog('info', output);
    const context = Object.freeze({ message: 'HTTP 429' });
    log.error({ err: Object.assign(new Error('the node refused'), { context }) }, 'first');
    log.error({ err: Object.freeze(new Error('frozen')) }, 'second');
    output.writeLast();
    expect(lines.join('')).toMatch(/the node refused.*first.*\n.*frozen.*second/s);
  },
);
