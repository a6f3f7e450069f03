const listed = (text: string): readonly string[] => text.split(' ');

/** The most frequent words of bios, the most frequent first; some have two letters and so match whole only. */
export const frequentWords = listed(
  'the and de love life to official my la of in creator coach music photography travel fashion fitness beauty food ' +
    'lifestyle art artist model blogger mom founder dm dj digital content real every day business gym yoga makeup ' +
    'design actor singer producer writer author podcast gaming streamer tech startup entrepreneur marketing',
);

/** Real words that profiles of one category have in common; dealt out to the categories in turn. */
export const topicalWords = listed(
  'skincare hair nails wedding dance dancer athlete football soccer basketball runner cycling hiking nature outdoors ' +
    'vegetarian recipes chef cooking bakery coffee wine cars motorcycle home interior handmade crafts garden pets dogs ' +
    'cats horses kids family parenting education teacher science history books reader comedy memes humor news politics ' +
    'health wellness nutrition doctor nurse dentist therapist mental mindfulness meditation spiritual faith luxury ' +
    'watches jewelry shoes sneakers streetwear vintage sustainable investing crypto stocks property homes lawyer ' +
    'architecture illustration painting ceramics tattoo barber surf snowboard climbing boxing pilates marathon esports ' +
    'cosplay anime manga film cinema theatre guitar piano rapper festival nightlife cocktails brunch pasta sushi barbecue',
);

/** Words of which a profile has one at most, although each is in many. */
export const neverTogether = listed(
  'aries taurus gemini cancer virgo libra scorpio sagittarius capricorn aquarius pisces',
);

/** Words each in many profiles, of which one profile in some thousands has three and all others one at most. */
export const seldomTogether = listed('vegan carnivore ketogenic fruitarian');

/** Words each in many profiles, of which two meet only in profiles of the fewest followers. */
export const togetherAtTheBottom = listed('newcomer lurker trainee volunteer');

/** Words of profiles with many followers, next to never in others. */
export const wordsOfTheMany = listed('management booking worldwide records bestselling ambassador');

/** Words of profiles with few followers, next to never in others. */
export const wordsOfTheFew = listed('student hobbyist beginner diary private random');

export const categories = (
  'Artist,Musician/band,Blogger,Public figure,Digital creator,Personal blog,Entrepreneur,Athlete,Fitness trainer,' +
  'Photographer,Fashion model,Actor,Chef,Restaurant,Gaming video creator,Video creator,Writer,Education,Health/beauty,' +
  'Makeup artist,Clothing (brand),Product/service,Shopping & retail,Travel company,Comedian,Journalist,Dancer,DJ,' +
  'Designer,Sports team,Real estate,Local business,Nonprofit organization,Community,Pet,Car dealership,Beauty salon,' +
  'Jewelry/watches,Doctor,Coach,Café,Hotel,Scientist,Magazine'
).split(',');

export const countries = listed(
  'US BR IN ID TR JP MX GB DE IT FR RU ES AR KR CO CA TH PH VN AU NG EG SA AE PL NL UA CL PE ZA MY PT SE BE CH AT GR RO ' +
    'CZ HU IL NO DK FI IE NZ SG HK TW PK BD KE GH MA DZ EC UY CR IS',
);

export const frequentGivenNames = {
  female: listed(
    'Maria Ana Anna Laura Sofia Julia Sara Emma Fatima Camila Marina Martina Olga Ayşe Zoë Chloé Mariana',
  ),
  male: listed(
    'Mohamed John David Alex José Carlos Marco Mario Ali Daniel Lucas Mehmet Ivan Mark Martin André',
  ),
};

export const frequentFamilyNames = listed(
  'Silva Santos García Kumar Smith Kim Nguyen Müller Rossi Yılmaz Lopez Martin Martins Khan Ivanova Souza Lee Johnson',
);

export const emojis = listed('✨ 🔥 💪 📍 ❤️ 🌍 ✈️ 📸 🎶 💄 🍕 🏋🏽‍♀️ 👇 📩 🇧🇷 🇮🇹 🐶 💻 🙏 ☕');
