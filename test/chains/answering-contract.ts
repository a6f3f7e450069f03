import { concatHex, numberToHex, size, type Hex } from 'viem';

const wordBytes = 2;
const word = (value: number): string => numberToHex(value, { size: wordBytes }).slice(2);

/** Code of a contract that answers each of these selectors with fixed bytes, and reverts at every other call. */
export const answeringContract = (answers: Record<Hex, Hex>): Hex => {
  const entries = Object.entries(answers);
  // PUSH0 CALLDATALOAD PUSH1 e0 SHR
  const start = '5f3560e01c';
  // DUP1 PUSH4 selector EQ PUSH2 place JUMPI
  const test = (selector: string, place: number): string => `8063${selector.slice(2)}1461${word(place)}57`;
  const testBytes = test('0x00000000', 0).length / 2;
  // JUMPDEST PUSH2 length PUSH2 offset PUSH0 CODECOPY PUSH2 length PUSH0 RETURN
  const answer = (length: number, offset: number): string =>
    `5b61${word(length)}61${word(offset)}5f3961${word(length)}5ff3`;
  const answerBytes = answer(0, 0).length / 2;
  const answersAt = start.length / 2 + testBytes * entries.length + 3;
  let offset = answersAt + answerBytes * entries.length;
  let tests = '';
  let code = '';
  for (const [index, [selector, data]] of entries.entries()) {
    tests += test(selector, answersAt + answerBytes * index);
    code += answer(size(data), offset);
    offset += size(data);
  }
  // PUSH0 PUSH0 REVERT
  return concatHex([`0x${start}${tests}5f5ffd${code}`, ...entries.map(([, data]) => data)]);
};
