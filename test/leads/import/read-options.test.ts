import { describe, expect, it } from 'vitest';
import {
  readColumn,
  readDefault,
  readDelimiter,
  readRejectedLimit,
} from '../../../src/leads/import/read-options.ts';

describe('--column', () => {
  it('adds up, and takes all behind the first = for the name of the column', () => {
    const columns = readColumn('followers=a=b ', readColumn('username=Handle of the person'));
    expect(columns).toEqual({ username: 'Handle of the person', followers: 'a=b ' });
  });

  it('leaves a field out whose column is empty', () => {
    expect(readColumn('bio=')).toEqual({ bio: '' });
  });

  it.each(['bio', '=bio', 'Bio=x', 'name=x', '__proto__=x', ''])(
    'refuses %j and lists the fields',
    (text) => {
      expect(() => readColumn(text)).toThrow(/The fields: username, full_name, .*, city\./);
    },
  );

  it('refuses a second column for a field', () => {
    expect(() => readColumn('bio=b', { bio: 'a' })).toThrow('bio has a column already.');
  });
});

describe('--default', () => {
  it('adds up, and reads values as rows have them', () => {
    const both = readDefault('is_verified=No', readDefault('following=1,234'));
    expect(both).toEqual({ following: 1234, is_verified: false });
    expect(readDefault('full_name=')).toEqual({ full_name: '' });
    expect(readDefault('is_business=1')).toEqual({ is_business: true });
  });

  it.each(['bio=x', 'username=x', 'followers=5', 'following', '=0', '__proto__=x', ''])(
    'refuses %j and lists the fields',
    (text) => {
      expect(() => readDefault(text)).toThrow(/The fields: full_name, following, is_verified, is_business\./);
    },
  );

  it.each(['following=', 'following=many', 'is_verified=', 'is_verified=perhaps'])(
    'refuses %j, which is no value of the field',
    (text) => {
      expect(() => readDefault(text)).toThrow(/must be (a whole number|true or false)/);
    },
  );

  it('refuses a second default for a field', () => {
    expect(() => readDefault('full_name=b', { full_name: '' })).toThrow('full_name has a default already.');
  });
});

describe('--delimiter', () => {
  it.each([
    [';', ';'],
    ['|', '|'],
    ['tab', '\t'],
    ['\\t', '\t'],
    ['\t', '\t'],
  ])('reads %j', (text, delimiter) => {
    expect(readDelimiter(text)).toBe(delimiter);
  });

  it.each(['', ',,', '"', '\n'])('refuses %j', (text) => {
    expect(() => readDelimiter(text)).toThrow(/one character/);
  });
});

describe('--max-rejected', () => {
  it.each([
    ['0', { rows: 0 }],
    ['100', { rows: 100 }],
    ['0%', { percent: 0 }],
    ['2.5%', { percent: 2.5 }],
    ['100%', { percent: 100 }],
  ])('reads %j', (text, limit) => {
    expect(readRejectedLimit(text)).toEqual(limit);
  });

  it.each(['', '-1', '1.5', '101%', '%', 'ten', '1e3', '1 %'])('refuses %j', (text) => {
    expect(() => readRejectedLimit(text)).toThrow(/number of rows, such as 100, or a share/);
  });
});
