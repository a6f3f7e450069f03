import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { toRpcTransactionError } from './solana-errors.ts';

const litesvm = dirname(createRequire(import.meta.url).resolve('litesvm'));
const declarations = readFileSync(join(litesvm, 'internal.d.ts'), 'utf8');

/** The names and numbers of an enumeration of litesvm, which exists in its declarations only. */
const readEnumeration = (name: string): { name: string; number: number }[] => {
  const body = new RegExp(`const enum ${name} \\{([^}]*)\\}`).exec(declarations)?.[1] ?? '';
  return [...body.matchAll(/(\w+) = (\d+)/g)].map((match) => ({
    name: String(match[1]),
    number: Number(match[2]),
  }));
};

describe('Solana errors in the words of the RPC', () => {
  it("have the runtime's name for each number of a transaction's error", () => {
    const errors = readEnumeration('TransactionErrorFieldless');
    expect(errors.length).toBeGreaterThan(30);
    expect(errors.map((each) => toRpcTransactionError(each.number))).toEqual(errors.map((each) => each.name));
  });

  it("have the runtime's name for each number of an instruction's error", () => {
    const errors = readEnumeration('InstructionErrorFieldless');
    expect(errors.length).toBeGreaterThan(50);
    expect(errors.map((each) => toRpcTransactionError({ index: 2, err: () => each.number }))).toEqual(
      errors.map((each) => ({ InstructionError: [2, each.name] })),
    );
  });

  it("carry a program's own number", () => {
    expect(toRpcTransactionError({ index: 1, err: () => ({ code: 17 }) })).toEqual({
      InstructionError: [1, { Custom: 17 }],
    });
  });

  it('refuse to guess the name of an unknown number', () => {
    expect(() => toRpcTransactionError(9_999)).toThrow('9999');
  });
});
