import { describe, expect, it } from 'vitest';
import { readText, refusals, usernames } from './read-all.ts';

const lines = (...objects: unknown[]): string => objects.map((object) => JSON.stringify(object)).join('\n');

describe('a JSON Lines file', () => {
  it('is read with typed values, blank lines, CRLF, a byte order mark and members in any order', async () => {
    const content = `\uFEFF{"username":"mira","followers":5,"is_verified":true,"bio":"a\\nb","city":null}\r\n\n{"followers":6,"username":"ben"}`;
    const read = await readText('profiles.jsonl', content);
    expect(read.leads).toMatchObject([
      { username: 'mira', is_verified: true, bio: 'a\nb' },
      { username: 'ben', followers: 6, is_verified: false },
    ]);
    expect(read.leads[0]).not.toHaveProperty('city');
  });

  it('adds no values', async () => {
    const whole = { username: 'ann', full_name: '', followers: 5, following: 1, verified: 0, business: 1 };
    const read = await readText(
      'profiles.jsonl',
      lines(
        whole,
        { ...whole, username: 'bob', full_name: null },
        { ...whole, username: 'cy', following: '' },
        { ...whole, username: 'dan', verified: null },
        { username: 'eve', name: 'Eve', full_name: '', followers: 1, following: 0, verified: true },
      ),
      { defaults: { is_business: true } },
    );
    expect(read.leads).toEqual([
      { username: 'ann', full_name: '', followers: 5, following: 1, is_verified: false, is_business: true },
      { username: 'eve', full_name: 'Eve', followers: 1, following: 0, is_verified: true, is_business: true },
    ]);
    expect(refusals(read)).toEqual([
      [2, expect.stringMatching(/^full_name is missing; /)],
      [3, expect.stringMatching(/^following is missing; /)],
      [4, expect.stringMatching(/^is_verified is missing; .*: default is_verified=VALUE/)],
    ]);
  });

  it('reports rejected lines by number, and imports the rest', async () => {
    const content = [
      '{"username":"mira","followers":5}',
      '{"username":"ben","followers":',
      '["zoe",7]',
      '"kim"',
      '{"username":"lou"}',
      '{"username":"max","followers":9}',
    ].join('\n');
    const read = await readText('profiles.jsonl', content);
    expect(usernames(read)).toEqual(['mira', 'max']);
    expect(refusals(read)).toEqual([
      [2, expect.stringMatching(/^The line is not JSON: /)],
      [3, 'The line is a list; it must be one JSON object.'],
      [4, 'The line is "kim"; it must be one JSON object.'],
      [5, 'followers is missing; it must be a whole number.'],
    ]);
    expect(read.rejected[0]?.row).toBe('{"username":"ben","followers":');
  });

  it('rejects only lines that are not UTF-8 or too long', async () => {
    const read = await readText(
      'profiles.jsonl',
      Buffer.concat([
        Buffer.from('{"username":"mira","followers":5,"bio":"\u00e9"}\n', 'latin1'),
        Buffer.from(`{"username":"ben","followers":6,"bio":"${'x'.repeat(1_200_000)}"}\n`),
        Buffer.from('{"username":"zoé","followers":7}\n'),
      ]),
    );
    expect(usernames(read)).toEqual(['zoé']);
    expect(refusals(read)).toEqual([
      [1, expect.stringMatching(/^The row is not UTF-8/)],
      [2, 'The line is longer than 1048576 bytes.'],
    ]);
  });

  it('is read with synonyms of its members, and counters within them', async () => {
    const read = await readText(
      'profiles.jsonl',
      lines({
        userName: 'mira',
        fullName: 'Mira',
        biography: 'x',
        edge_followed_by: { count: 5 },
        edge_follow: { count: 6 },
        edge_owner_to_timeline_media: { count: 7, edges: [] },
        isVerified: true,
        profilePicUrl: 'https://example.com/a.jpg',
        relatedProfiles: [],
      }),
    );
    expect(read.leads).toMatchObject([
      {
        username: 'mira',
        full_name: 'Mira',
        bio: 'x',
        followers: 5,
        following: 6,
        media_count: 7,
        is_verified: true,
      },
    ]);
    expect(read.unused).toEqual(['relatedProfiles']);
  });

  it('is read from the chosen members, also within objects', async () => {
    const read = await readText(
      'profiles.jsonl',
      lines({
        owner: { username: 'mira', 'a/b': { n: 5 } },
        username: 'wrong',
        FANS: 1,
        bio: 'not this',
        list: ['Lyon'],
      }),
      {
        columns: {
          username: '/owner/username',
          followers: '/owner/a~1b/n',
          following: 'fans',
          bio: '',
          city: '/list/0',
        },
      },
    );
    expect(read.leads).toEqual([
      {
        username: 'mira',
        full_name: '',
        followers: 5,
        following: 1,
        is_verified: false,
        is_business: false,
        city: 'Lyon',
      },
    ]);
    expect(read.unused).toEqual(['username', 'bio']);
  });

  it("prefers the field's own name to synonyms, whichever comes first", async () => {
    const first = { name: 'no', full_name: 'yes', handle: 'no', username: 'a', followers: 1 };
    const second = { full_name: 'yes', name: 'no', username: 'b', handle: 'no', followers: 1 };
    const read = await readText('profiles.jsonl', lines(first, second));
    expect(read.leads).toMatchObject([
      { username: 'a', full_name: 'yes' },
      { username: 'b', full_name: 'yes' },
    ]);
  });

  it('prefers the exact name to one in another case', async () => {
    const exact = lines({ Username: 'no', username: 'a', followers: 1 }, { USERNAME: 'b', followers: 1 });
    expect(usernames(await readText('profiles.jsonl', exact))).toEqual(['a', 'b']);
    const columns = { username: 'Nick' };
    const chosen = lines({ nick: 'no', Nick: 'a', NICK: 'no', followers: 1 });
    expect(usernames(await readText('profiles.jsonl', chosen, { columns }))).toEqual(['a']);
  });

  it('skips lists and objects if another member has the plain value', async () => {
    const read = await readText(
      'profiles.jsonl',
      lines(
        { username: 'a', followers: ['x', 'y'], followers_count: 2, posts: [{ id: 1 }], posts_count: 3 },
        { username: 'b', followersCount: 4, followers: { page: 1 }, category: null },
        { username: 'c', followers: ['x', 'y'] },
      ),
    );
    expect(read.leads).toMatchObject([
      { username: 'a', followers: 2, media_count: 3 },
      { username: 'b', followers: 4 },
    ]);
    expect(refusals(read)).toEqual([[3, expect.stringMatching(/^followers is a list/)]]);
  });

  it('rejects only rows with two members for one field, unless all have them', async () => {
    const twice = { username: 'b', followers_count: 1, follower_count: 2 };
    const first = lines(twice, { username: 'a', followers: 1 }, twice);
    const read = await readText('profiles.jsonl', first);
    expect(usernames(read)).toEqual(['a']);
    expect(refusals(read)).toEqual([
      [1, expect.stringMatching(/^Several members have a value for followers: "followers_count" and/)],
      [3, expect.stringMatching(/: column followers=NAME\.$/)],
    ]);
    const better = lines({ ...twice, followers: 3 });
    expect((await readText('profiles.jsonl', better)).leads).toMatchObject([{ followers: 3 }]);
    const all = Array.from({ length: 500 }, () => twice);
    const late = lines(...all, { username: 'a', followers: 1 });
    await expect(readText('profiles.jsonl', late)).rejects.toThrow(
      /Several members have a value for followers/,
    );
  });

  it('skips members without a value, and treats equal values as one', async () => {
    const read = await readText(
      'profiles.jsonl',
      lines(
        { username: 'a', followers: 5, email: null, business_email: null },
        { username: 'b', followers: 5, email: '', business_email: 'b@example.com' },
        { username: 'c', followers: 5, email: 'c@example.com', business_email: 'c@example.com' },
        { username: 'd', followers: 5, category: null, business_category_name: 'Artist' },
        { username: 'e', followers: 5, email: null, business_email: 'e@example.com', mail: null },
        { username: 'f', followers: 5, email: 'x@example.com', business_email: 'y@example.com' },
      ),
    );
    expect(read.leads.map((lead) => [lead.username, lead.public_email ?? lead.category])).toEqual([
      ['a', undefined],
      ['b', 'b@example.com'],
      ['c', 'c@example.com'],
      ['d', 'Artist'],
      ['e', 'e@example.com'],
    ]);
    expect(refusals(read)).toEqual([
      [6, expect.stringMatching(/value for public_email: "email" and "business_email"/)],
    ]);
  });

  it.each([
    [lines({ nick: 'mira', followers: 5 }), /has no column for username\. Its columns: nick, followers\./],
    [`${lines({ username: 'mira' })}\n`.repeat(600), /has no column for followers/],
    [
      lines({ username: 'a', followers_count: 1, follower_count: 2 }),
      /profiles\.jsonl: Several members have a value for followers: "followers_count" and "follower_count"\. .*: column followers=NAME/,
    ],
    ['[{"username":"mira","followers":5}]', /is a JSON array; convert it to JSON Lines/],
  ])('is refused if it is invalid as a whole', async (content, message) => {
    await expect(readText('profiles.jsonl', content)).rejects.toThrow(message);
  });
});
