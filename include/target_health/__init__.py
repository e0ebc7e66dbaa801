"""Target Health: is this site still behaving towards our crawler as it normally does?"""
