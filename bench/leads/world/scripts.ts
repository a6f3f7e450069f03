import type { Draws } from './draws.ts';

/** Words of one script that is not Latin, the most frequent first, and how they are put together. */
export interface Script {
  /** Where they are written. */
  countries: ReadonlySet<string>;
  words: readonly string[];
  /** Between two words; nothing where a script puts no spaces. */
  separator: '' | ' ';
}

const wordsPerScript = 1500;

interface Alphabet {
  countries: string;
  separator: '' | ' ';
  /** Characters to draw from, the first ones more often. */
  characters: string;
  shortest: number;
  longest: number;
}

const alphabets: readonly Alphabet[] = [
  {
    countries: 'JP',
    separator: '',
    characters: '東京旅行写真日本美食料理花山海猫犬音楽家族健康運動生活のをはにがでとタカメラグルトレーニン',
    shortest: 2,
    longest: 4,
  },
  {
    countries: 'TW HK SG',
    separator: '',
    characters:
      '我的美食旅行攝影生活時尚健身香港台北新年快樂音樂藝術設計師家庭寵物咖啡電影合作邀約請私訊每天分享',
    shortest: 2,
    longest: 3,
  },
  {
    countries: 'TH',
    separator: '',
    characters: 'กรนมอาเสคลงยวดทตปบพหชไใแโจขผสถซฟ',
    shortest: 3,
    longest: 6,
  },
  {
    countries: 'KR',
    separator: ' ',
    characters: '사랑여행일상맛집카페서울운동사진음악패션뷰티강아지고양이그램스타오늘하루',
    shortest: 2,
    longest: 4,
  },
  {
    countries: 'RU UA',
    separator: ' ',
    characters: 'оеаинтсрвлкмдпуяыьгзбчйхжшюцщёї',
    shortest: 3,
    longest: 10,
  },
  {
    countries: 'SA AE EG MA DZ',
    separator: ' ',
    characters: 'المنيترهوبدسعقفكشحخجطغصضذثظزء',
    shortest: 3,
    longest: 7,
  },
  {
    countries: 'GR',
    separator: ' ',
    characters: 'αοιετσνηυρπκμλςωδγχθφβξζψάέήίόύώ',
    shortest: 3,
    longest: 9,
  },
];

export const inventScripts = (draws: Draws): Script[] =>
  alphabets.map((alphabet) => ({
    countries: new Set(alphabet.countries.split(' ')),
    separator: alphabet.separator,
    words: Array.from({ length: wordsPerScript }, () => inventWord(alphabet, draws)),
  }));

const inventWord = ({ characters, shortest, longest }: Alphabet, draws: Draws): string => {
  const letters = Array.from(characters);
  const length = shortest + draws.below(longest - shortest + 1);
  return Array.from({ length }, () => letters[draws.rank(letters.length)] ?? '').join('');
};
