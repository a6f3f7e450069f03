import { expect, test } from 'vitest';
import { operatorOf, temporaryDataFolder } from '../cli/run-cli.ts';

test('the command line changes a price, switches a model off, and shows what was changed', async () => {
  const { print, refusal } = operatorOf({ DATA_DIR: await temporaryDataFolder() }, { subject: 'models' });
  const price = '{"unit":"second","rates":[{"resolution":"720p","price_usd":"0.07"}]}';
  const set = await print('set', 'videomodel-2.0', '--price', price);
  expect(set.stdout).toMatch(/^videomodel-2\.0 +video +yes +720p \$0\.07 a second +yes +2\S+Z +cli:/m);
  await print('set', 'videomodel-2.0', '--state', 'off');
  const listed = await print('list');
  expect(listed.stdout).toMatch(/^videomodel-2\.0 +video +no +720p \$0\.07 a second +yes/m);
  expect(listed.stdout).toMatch(/^imagemodel-1\.0 +image +yes +\$0\.04 a call +no +- +-$/m);
  await print('unset', 'videomodel-2.0');
  const history = await print('history', 'videomodel-2.0', '--limit', '2');
  expect(history.stdout).toMatch(/^3 .* off +480p \$0\.02, .*\n2 .* 720p \$0\.07 a second +off$/m);
  expect((await print('history', 'videomodel-2.0', '--after', '2')).stdout).toMatch(/^1 /m);
  expect(await refusal('set', 'videomodel-2.0', '--price', 'cheap')).toMatchObject({ exitCode: 2 });
});
