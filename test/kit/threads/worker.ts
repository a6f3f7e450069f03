import { serveCalls } from '../../../src/kit/threads/serve-calls.ts';

/** Doubles a number, or misbehaves as a word says. */
serveCalls((input: number | string): unknown => {
  if (input === 'hang') for (;;);
  if (input === 'crash') queueMicrotask(() => crash());
  if (input === 'exit') process.exit(0);
  if (input === 'refuse') throw new Error('the fixture refused');
  if (input === 'environment') return Object.keys(process.env);
  return typeof input === 'number' ? input * 2 : new Promise(() => {});
});

const crash = (): never => {
  throw new Error('the fixture crashed');
};
