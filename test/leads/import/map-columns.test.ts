import { describe, expect, it } from 'vitest';
import { mapColumns } from '../../../src/leads/import/map-columns.ts';
import type { ColumnMap } from '../../../src/leads/import/input-options.ts';

const mapped = (names: string[], columns?: ColumnMap): Record<string, string> =>
  Object.fromEntries(
    Object.entries(mapColumns(names, { file: 'a.csv', columns }).indexes)
      .filter(([, index]) => index !== -1)
      .map(([field, index]) => [field, names[index] ?? '']),
  );

describe('columns', () => {
  it('are found by the names of fields, written in any way', () => {
    expect(
      mapped(['USERNAME', 'Full Name', 'followers', 'isVerified', 'profile-pic-url', 'Media Count']),
    ).toEqual({
      username: 'USERNAME',
      full_name: 'Full Name',
      followers: 'followers',
      is_verified: 'isVerified',
      profile_pic_url: 'profile-pic-url',
      media_count: 'Media Count',
    });
  });

  it('are found by synonyms from exports', () => {
    const names = [
      'handle',
      'name',
      'edge_followed_by/count',
      'followsCount',
      'verified',
      'is_business_account',
    ];
    const others = ['category_name', 'Biography', 'Business Email', 'posts', 'sex', 'avatar', 'country_code'];
    expect(mapped([...names, ...others])).toEqual({
      username: 'handle',
      full_name: 'name',
      followers: 'edge_followed_by/count',
      following: 'followsCount',
      is_verified: 'verified',
      is_business: 'is_business_account',
      category: 'category_name',
      bio: 'Biography',
      public_email: 'Business Email',
      media_count: 'posts',
      gender: 'sex',
      profile_pic_url: 'avatar',
      country: 'country_code',
    });
  });

  it('can be chosen by name or position, and a field can be left out', () => {
    const names = ['username', 'followers', 'nick', 'Fans', 'bio'];
    expect(mapped(names, { username: 'nick', followers: '#4', bio: '' })).toEqual({
      username: 'nick',
      followers: 'Fans',
    });
    expect(mapped(names, { followers: 'fans' })).toMatchObject({ username: 'username', followers: 'Fans' });
  });

  it("with the field's own name win over synonyms, which are then unused", () => {
    const { indexes, unused } = mapColumns(['name', 'full_name', 'username', 'followers'], { file: 'a.csv' });
    expect(indexes.full_name).toBe(1);
    expect(unused).toEqual(['name']);
  });

  it.each<[string[], ColumnMap, RegExp]>([
    [['a', 'followers'], {}, /^a\.csv has no column for username\. Its columns: a, followers\./],
    [
      ['username', 'followers', 'email', 'business_email'],
      {},
      /more than one column for public_email: email \(#3\), business_email \(#4\)\. .*: column public_email=#3\.$/,
    ],
    [
      ['username', 'followers', 'X', 'x'],
      { bio: ' x ' },
      /more than one column for bio: X \(#3\), x \(#4\)\. Choose one: column bio=#3/,
    ],
    [
      ['username', 'followers'],
      { bio: 'text' },
      /has no column text \(for bio\)\. Its columns: username, followers\./,
    ],
    [['username', 'followers'], { bio: '#3' }, /has no column #3 \(for bio\)/],
    [['#1', '#2'], { username: '1', followers: '#2' }, /To name a column by its position, write #1\.$/],
  ])('are refused with advice: %j with %j', (names, columns, message) => {
    expect(() => mapColumns(names, { file: 'a.csv', columns })).toThrow(message);
  });
});
